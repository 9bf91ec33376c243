// Letters and digits of ASCII, and the percent-encoding of URIs.
#include "supervisor/base/ascii.h"

#include "supervisor/base/percent.h"
#include "tests/catch.h"

TEST_CASE("only letters of ASCII become lower case", "[ascii]") {
  CHECK(lower_case("Content-TYPE_09@[`{") == "content-type_09@[`{");
  CHECK(lower_case("ÄÖ\xff") == "ÄÖ\xff");
  CHECK(lower_case(std::string_view("A\0B", 3)) == std::string("a\0b", 3));
  CHECK(lower_case("").empty());
}

TEST_CASE("a byte is a hexadecimal digit or not", "[ascii]") {
  int digits = 0;
  for (int c = 0; c < 256; c++) {
    const int digit = hex_digit(static_cast<char>(c));
    if (digit < 0) continue;
    digits++;
    CHECK(std::string_view("0123456789abcdef")[static_cast<size_t>(digit)] == lower_case(static_cast<char>(c)));
  }
  CHECK(digits == 22);
}

TEST_CASE("each class has its bytes of ASCII and no others", "[ascii]") {
  const auto members = [](auto is_member) {
    std::string all;
    for (int c = 0; c < 256; c++)
      if (is_member(static_cast<char>(c))) all += static_cast<char>(c);
    return all;
  };
  const std::string digits = "0123456789", upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", lower = lower_case(upper);
  CHECK(members(is_digit) == digits);
  CHECK(members(is_upper) == upper);
  CHECK(members(is_lower) == lower);
  CHECK(members(is_letter) == upper + lower);
  CHECK(members(is_alnum) == digits + upper + lower);
  CHECK(members(is_word) == digits + upper + "_" + lower);
  CHECK(members(is_lower_or_digit) == digits + lower);
  CHECK(members(is_hex) == digits + "ABCDEFabcdef");
  CHECK(members(is_lower_hex) == digits + "abcdef");
  CHECK(upper_case(lower + "_9\xe4") == upper + "_9\xe4");
}

TEST_CASE("two words are the same in any case", "[ascii]") {
  CHECK(is_same_word("Bearer", "bEARER"));
  CHECK(is_same_word("", ""));
  CHECK_FALSE(is_same_word("bearer", "bearer "));
  CHECK_FALSE(is_same_word("[", "{"));
}

TEST_CASE("each path survives percent-encoding", "[percent]") {
  std::string every;
  for (int c = 0; c < 256; c++) every += static_cast<char>(c);
  const std::string encoded = encode_percent(every);
  CHECK(encoded.find_first_of(std::string_view(" %\"<>\x7f", 6)) == encoded.find('%'));
  CHECK(decode_percent(encoded).value() == every);
  CHECK(encode_percent("a b/ü") == "a%20b/%C3%BC");
}

TEST_CASE("a percent sign without two digits is an error", "[percent]") {
  for (const char* text : {"%", "a%", "%4", "%4g", "%g4", "%%41", "50% more"}) {
    INFO(text);
    CHECK(decode_percent(text).error().code == Code::invalid);
  }
  CHECK(decode_percent("%2f%2F").value() == "//");
}
