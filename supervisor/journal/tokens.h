// Tokens: how many tokens of a model's context a text takes, told from its form without a tokenizer: words, digits,
// marks, blanks and scripts are counted, each weighed as OpenAI's o200k tokenizer was seen to cut it. An estimate:
// within 15 % for the 25 kinds of text in tests/supervisor/journal/token_samples. Used by: the ledger.
#pragma once
#include <cstdint>
#include <string_view>

namespace journal {

// Looks at no more than 16 KiB of a text, spread evenly.
uint64_t estimated_tokens(std::string_view text);

// Tokens of `bytes` bytes of which `sample` is a part.
uint64_t estimated_tokens(uint64_t bytes, std::string_view sample);

// Tokens of bytes that nobody looked at. Cautious: few kinds of text have more bytes a token than these four.
constexpr uint64_t cautious_tokens(uint64_t bytes) { return bytes / 4; }

// A picture costs by its size on the screen, not by its bytes; about this for the largest that models take.
constexpr uint64_t kPictureTokens = 1600;

}  // namespace journal
