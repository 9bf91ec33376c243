// Deceiving text: characters that drive a terminal, are invisible, or change the direction of writing. With them, a
// person reads another text than the file has. In text from outside, these characters are replaced or made visible
// before a person sees the text. Used by: supervisor/programs/cli/terminal.cc, supervisor/upstream/question.cc.
#pragma once
#include <cstddef>
#include <string_view>

// Length in bytes of the deceiving character at the beginning of `text`, also for newline and tab. 0: the text begins
// with a harmless character. For valid UTF-8 only.
size_t deceiving_bytes(std::string_view text);
