// Doc comments: the inside of a /** comment */ of JavaScript and TypeScript. No text of a definition can end the
// comment.
#pragma once
#include <string>
#include <string_view>

namespace catalog {

// Each line of `text` after the first begins with `indent` spaces and " * ".
std::string doc_comment(std::string_view text, size_t indent = 0);

}  // namespace catalog
