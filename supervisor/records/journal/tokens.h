// Tokens: estimates how many tokens of a model's context a text takes, from the form of the text and without a
// tokenizer. Words, digits, marks, blanks and scripts are counted, with weights measured on OpenAI's o200k tokenizer.
// The error is within 15 % for the 25 kinds of text in tests/supervisor/records/journal/token_samples. Used by: the
// ledger (executions.h).
#pragma once
#include <cstdint>
#include <string_view>

namespace journal {

// Reads at most 16 KiB of a text, spread evenly.
uint64_t estimated_tokens(std::string_view text);

// Tokens of a text of `bytes` bytes; `sample` is a part of that text.
uint64_t estimated_tokens(uint64_t bytes, std::string_view sample);

// A low estimate for bytes that were not read: few kinds of text have more than four bytes per token.
constexpr uint64_t cautious_tokens(uint64_t bytes) { return bytes / 4; }

// Tokens of a picture depend on its size on the screen, not on its bytes. This is about the number for the largest
// pictures that models take.
constexpr uint64_t kPictureTokens = 1600;

}  // namespace journal
