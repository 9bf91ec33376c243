// Comments: the inside of a /** comment */ of JavaScript and TypeScript, that no text of a definition can end.
#pragma once
#include <string>
#include <string_view>

namespace catalog {

// Line by line, each after `indent` spaces and " * ".
std::string doc_comment(std::string_view text, size_t indent = 0);

}  // namespace catalog
