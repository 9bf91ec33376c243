// Deceiving text: characters that drive a terminal, are not seen, or change the direction of writing, so that a person
// reads something else than what is there. Of others' texts they are replaced or made visible before a person sees
// them.
#pragma once
#include <cstddef>
#include <string_view>

// How many bytes at the beginning of `text` are such a character, newline and tab among them; 0: it is harmless.
// For valid UTF-8 only.
size_t deceiving_bytes(std::string_view text);
