// JSON text of our own, and for people. json.h has the reader and the writer of all other JSON.
#pragma once
#include <string>
#include <string_view>

#include "supervisor/base/json/json_fwd.h"
#include "supervisor/base/result.h"

// parse_json() without a limit of depth, for a text that our own code has written. Errors: as there.
Result<Json> parse_own_json(std::string_view text);
// dump_json() without characters beyond ASCII: for texts that a person must not misread, or that go to a terminal.
std::string dump_json_ascii(const Json& value);
