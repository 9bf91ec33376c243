// Visible text: makes text of definitions safe to show. Models and people read texts of servers, and invisible
// characters can deceive them: control characters, marks that turn the direction of writing, line ends that only some
// programs know, tag letters.
#pragma once
#include <string>
#include <string_view>

#include "supervisor/base/json/json_fwd.h"

namespace catalog {

enum class Lines { preserved, joined };  // joined: line ends and tabs become spaces

// Each invisible character becomes U+FFFD; carriage returns are removed. `text` must be valid UTF-8. Joiners and
// variation selectors stay: names, Persian and emoji need them.
std::string visible(std::string_view text, Lines lines);
// Applies visible() to every string of a document. Names of members get Lines::joined.
void make_visible(Json& document);

}  // namespace catalog
