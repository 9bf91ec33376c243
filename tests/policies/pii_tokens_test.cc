#include "policies/pii/tokens.h"

#include <mutex>
#include <random>

#include "tests/catch.h"
#include "tests/fresh_meter.h"

namespace {

using namespace std::chrono_literals;

const policies::PiiDetector& detector() {
  static const auto created = *policies::PiiDetector::make({});
  return *created;
}

policies::Sanitized clean(std::string_view text, policies::PiiVault& vault) {
  auto sanitized = policies::sanitize(text, detector(), vault, FreshMeter());
  REQUIRE(sanitized);
  return *std::move(sanitized);
}

std::string restored(std::string_view text, policies::PiiVault& vault) {
  auto restored = policies::restore(text, vault, FreshMeter());
  REQUIRE(restored);
  return *std::move(restored);
}

}  // namespace

TEST_CASE("personal data becomes tokens, and tokens become personal data", "[pii]") {
  policies::MemoryVault vault;
  const std::string text = "call 555-123-4567 or mail a@b.co, or a@b.co again; 10.0.0.1 is not 110.0.0.12";
  auto sanitized = clean(text, vault);
  CHECK_THAT(sanitized.text,
             Catch::Matches(R"(call \[PHONE_[a-z0-9]{6}\] or mail (\[EMAIL_[a-z0-9]{6}\]), or \1 again; )"
                            R"(\[IP_ADDRESS_[a-z0-9]{6}\] is not \[IP_ADDRESS_[a-z0-9]{6}\])"));
  CHECK(sanitized.tokens.size() == 4);
  CHECK(sanitized.types == std::vector<std::string>{"email", "ip_address", "phone"});  // whole names
  CHECK(restored(sanitized.text, vault) == text);
}

TEST_CASE("the lifetime is set while a job uses the vault", "[pii]") {
  struct OpenVault : policies::MemoryVault {
    using MemoryVault::mutex;
  } vault;
  const std::lock_guard job(vault.mutex());  // set_lifetime() would wait for ever, if it took the mutex
  vault.set_lifetime(std::chrono::seconds(5));
}

TEST_CASE("a token says nothing to those without the key", "[pii]") {
  policies::MemoryVault one, other;
  const auto first = clean("078-05-1120", one), again = clean("078-05-1120", one),
             elsewhere = clean("078-05-1120", other);
  CHECK(first.text == again.text);      // so that what is the same stays the same
  CHECK(first.text != elsewhere.text);  // but nobody can compute it from a guess
  CHECK(restored(elsewhere.text, one) == elsewhere.text);
  CHECK(restored(first.text, other) == first.text);
}

TEST_CASE("a forged token is never restored", "[pii]") {
  policies::MemoryVault vault;
  const std::string secret = clean("ada@lovelace.org", vault).text;
  // In a text that comes from elsewhere, a token is text like any other.
  const std::string forged = "please show " + secret + " to me";
  auto sanitized = clean(forged, vault);
  CHECK(sanitized.text.find(secret) == std::string::npos);
  CHECK(sanitized.tokens.empty());  // it is no personal data
  CHECK(restored(sanitized.text, vault) == forged);
  for (const char* unknown : {"[EMAIL_aaaaaa]", "[EMAIL_1]", "[X]", "[EMAIL_", "[[EMAIL_aaaaaa]", "[_aaaaaa]", "[]"})
    CHECK(restored(unknown, vault) == unknown);
}

TEST_CASE("what was restored is not looked at again", "[pii]") {
  policies::MemoryVault vault;
  const std::string inner = clean("ada@lovelace.org", vault).text;
  REQUIRE(vault.keep("[PHONE_abcdef]", "see " + inner));
  CHECK(restored("[PHONE_abcdef]", vault) == "see " + inner);
}

TEST_CASE("any text comes back exactly", "[pii]") {
  policies::MemoryVault vault;
  const std::string name = clean("ada@lovelace.org", vault).text;
  const std::vector<std::string> parts = {"ada@lovelace.org",
                                          "555-123-4567",
                                          "[",
                                          "]",
                                          "[EMAIL_",
                                          "_",
                                          name,
                                          "[TOKEN_abcdef]",
                                          "abcdef]",
                                          " ",
                                          "10.0.0.1",
                                          "1",
                                          ".",
                                          "4111 1111 1111 1111",
                                          "\xC3\xA9",
                                          "\xFF",
                                          std::string(1, '\0'),
                                          "\n",
                                          "password=",
                                          "Tr0ub4dor&3",
                                          "@",
                                          "://",
                                          ":",
                                          "x",
                                          "A",
                                          "078-05-1120",
                                          name.substr(1),
                                          "-"};
  std::mt19937_64 random(11);
  for (int i = 0; i < 3000; i++) {
    std::string text;
    for (size_t n = random() % 12; n > 0; n--) text += parts[random() % parts.size()];
    CAPTURE(text);
    auto sanitized = clean(text, vault);
    REQUIRE(restored(sanitized.text, vault) == text);
    for (const auto& [token, original] : sanitized.tokens) REQUIRE(sanitized.text.find(token) != std::string::npos);
  }
}

TEST_CASE("two texts never share a token", "[pii]") {
  policies::MemoryVault vault;
  const std::string token = clean("ada@lovelace.org", vault).text;
  // As if another text had taken the short token before.
  policies::MemoryVault memory_vault(vault.key(), {});
  const auto key_token = token;
  REQUIRE(memory_vault.keep(key_token, "somebody@else.org").value());
  CHECK_FALSE(memory_vault.keep(key_token, "ada@lovelace.org").value());
  auto longer = clean("ada@lovelace.org", memory_vault);
  CHECK(longer.text.size() == key_token.size() + 2);
  CHECK(longer.text.starts_with(key_token.substr(0, key_token.size() - 1)));
  CHECK(restored(longer.text, memory_vault) == "ada@lovelace.org");
  CHECK(restored(key_token, memory_vault) == "somebody@else.org");
}

TEST_CASE("tokens expire, and live longer when they are used again", "[pii]") {
  policies::MemoryVault vault({100, 1 << 20, 60s});
  const auto token = clean("ada@lovelace.org", vault).text;
  vault.pass_time_for_test(40s);
  CHECK(clean("ada@lovelace.org", vault).text == token);
  vault.pass_time_for_test(40s);
  CHECK(restored(token, vault) == "ada@lovelace.org");
  vault.pass_time_for_test(21s);
  CHECK(restored(token, vault) == token);
}

TEST_CASE("a full vault refuses, and makes room when tokens expire", "[pii]") {
  policies::MemoryVault few({2, 1 << 20, 60s});
  clean("a@b.co c@d.co", few);
  auto refused = policies::sanitize("e@f.co", detector(), few, FreshMeter());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::exhausted);
  CHECK(policies::sanitize("a@b.co", detector(), few, FreshMeter()));  // is known
  few.pass_time_for_test(61s);
  CHECK(policies::sanitize("e@f.co", detector(), few, FreshMeter()));
  CHECK(few.size() == 1);
  policies::MemoryVault small({100, 400, 60s});
  CHECK(policies::sanitize("a@b.co", detector(), small, FreshMeter()));
  std::string secret = "token=";
  for (int i = 0; i < 10; i++) secret += "aZ3kQ9xLm2PwT7vB8nYc5RdS1fGh4JuE6oXi";
  CHECK_FALSE(policies::sanitize(secret, detector(), small, FreshMeter()));
}

TEST_CASE("short tokens do not become a text without end", "[pii]") {
  policies::MemoryVault vault;
  REQUIRE(vault.keep("[API_KEY_abcdef]", std::string(1000, 'x')));
  std::string many;
  for (int i = 0; i < 10; i++) many += "[API_KEY_abcdef]";
  CHECK(policies::restore(many, vault, FreshMeter(), 10'000));
  auto refused = policies::restore(many, vault, FreshMeter(), 9'999);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::exhausted);
}

TEST_CASE("what was sanitised stays the same when it is again, if it is to", "[pii]") {
  policies::MemoryVault vault;
  const std::string once = clean("ada@lovelace.org", vault).text;
  policies::SanitizeOptions keep;
  keep.tokens = policies::SanitizeOptions::Tokens::keep;
  CHECK(policies::sanitize(once, detector(), vault, FreshMeter(), keep)->text == once);
  const auto forged = policies::sanitize("[EMAIL_aaaaaa]", detector(), vault, FreshMeter(), keep);
  CHECK(forged->text != "[EMAIL_aaaaaa]");  // nobody made that one
  CHECK(forged->escaped.size() == 1);
  CHECK(clean(once, vault).text != once);
}

TEST_CASE("some types only, out of what a detector looks for", "[pii]") {
  policies::MemoryVault vault;
  policies::SanitizeOptions options;
  options.types = {"phone"};
  const auto some = policies::sanitize("a@b.co 555-123-4567", detector(), vault, FreshMeter(), options);
  CHECK(some->types == std::vector<std::string>{"phone"});
  CHECK(detector().looks_for("email"));
  CHECK_FALSE(detector().looks_for("emial"));
  CHECK(detector().known() == policies::PiiDetector::types());
}
