// read_requirements(): the requirements of `warder layer build --requirements`, without all that would make pip fetch
// or build anything but wheels of the index. pip applies --only-binary neither to URLs nor to folders, and a file of
// requirements can have options, too.
// Used by: layer_build.cc. Errors: invalid, with the line.
#pragma once
#include <string>
#include <string_view>

#include "supervisor/base/result.h"

namespace admin {

// The lines without comments. Each is the name of a package, with versions, markers and hashes
// (`six==1.16.0 --hash=sha256:...`). Refused are options (-r, -e, --no-binary), URLs, paths and variables.
Result<std::string> read_requirements(std::string_view text);

}  // namespace admin
