#include "supervisor/records/journal/tokens.h"

#include <fstream>
#include <sstream>

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "tests/catch.h"

using journal::estimated_tokens;

// Texts that the weights were not fitted to, each with its number of tokens by o200k_base; tests/clients/test_tokens.py
// counts them again with the tokenizer.
TEST_CASE("tokens of unseen texts of many kinds are estimated within 15 %", "[journal]") {
  std::ifstream file(TOKEN_SAMPLES);
  std::stringstream read;
  read << file.rdbuf();
  const auto samples = parse_json(read.str());
  REQUIRE(samples);
  REQUIRE(samples->size() >= 20);
  double all = 0;
  for (const auto& [kind, sample] : samples->items()) {
    const std::string text = sample["text"];
    const double counted = sample["tokens"];
    const double share = static_cast<double>(estimated_tokens(text)) / counted;
    CAPTURE(kind, share);
    CHECK(share > 0.85);
    CHECK(share < 1.15);
    all += share / static_cast<double>(samples->size());
    // A sample of a long text is as good as the whole.
    std::string longer;
    while (longer.size() < 200'000) longer += text;
    const auto repeats = static_cast<double>(longer.size()) / static_cast<double>(text.size());
    const double sampled = static_cast<double>(estimated_tokens(longer)) / (counted * repeats);
    CAPTURE(sampled);
    CHECK(sampled > 0.85);
    CHECK(sampled < 1.15);
  }
  CHECK(all > 0.97);
  CHECK(all < 1.06);
}

TEST_CASE("any bytes are estimated, and what nobody saw cautiously", "[journal]") {
  CHECK(estimated_tokens("") == 0);
  CHECK(estimated_tokens(1000, "") == 250);
  CHECK(journal::cautious_tokens(4000) == 1000);
  std::string bytes;
  for (int i = 0; i < 100'000; i++) bytes += static_cast<char>(i * 7 + i / 256);
  CHECK(estimated_tokens(bytes) > 10'000);
  CHECK(estimated_tokens(bytes) <= bytes.size());
  for (const char* cut : {"\xF0", "\xE4\xBD", "\xC3", "\xC3\xC3", " \n", "\n "}) CHECK(estimated_tokens(cut) <= 4);
  CHECK(estimated_tokens(1'000'000'000, "word word word ") == Approx(200'000'000).epsilon(0.25));
}
