// Terminal: makes text of other programs safe for the user's terminal. Characters that could control the terminal are
// shown as escapes. Used by: `warder run` and the commands of warder-admin.
#pragma once
#include <cstdio>
#include <string>
#include <string_view>

namespace cli {

// `text` with escapes: control characters other than newline and tab as \x1b, characters that are invisible or change
// the direction of writing (base/deceiving_text.h) as \u202e. Invalid UTF-8 becomes U+FFFD.
std::string for_terminal(std::string_view text);
// Prints `text` unchanged into a file or a pipe, and by for_terminal() onto a terminal.
void print_text(std::FILE* to, std::string_view text);

}  // namespace cli
