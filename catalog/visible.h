// Visible: text of definitions as it may be shown. Servers write what models and people read, and what cannot be seen
// can lie: controls, marks that turn the direction of writing, line ends that only some programs know, tag letters.
#pragma once
#include <string>
#include <string_view>

#include "supervisor/base/json_fwd.h"

namespace catalog {

enum class Lines { kept, joined };  // joined: line ends and tabs become spaces

// Each character that cannot be seen becomes U+FFFD; carriage returns go. `text` is valid UTF-8.
// Joiners and variation selectors stay: names, Persian and emoji need them.
std::string visible(std::string_view text, Lines lines);
// The same for every string of a document; names of members have their lines joined.
void make_visible(Json& document);

}  // namespace catalog
