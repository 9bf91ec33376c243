// Text of others on this user's terminal: whatever could drive it is made visible instead.
#pragma once
#include <cstdio>
#include <string>
#include <string_view>

namespace cli {

// `text` with control characters but newline and tab shown as \x1b, and what is not seen or changes the direction of
// writing (base/deceiving_text.h) as \u202e; invalid UTF-8 becomes U+FFFD.
std::string for_terminal(std::string_view text);
// As it is into a file or a pipe, by for_terminal() onto a terminal.
void print_text(std::FILE* to, std::string_view text);

}  // namespace cli
