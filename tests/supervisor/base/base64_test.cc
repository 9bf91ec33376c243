#include "supervisor/base/base64.h"

#include "tests/catch.h"

using namespace std::string_literals;

TEST_CASE("base64 follows RFC 4648, section 10", "[base64]") {
  auto [bytes, text] = GENERATE(table<std::string, std::string>({{"", ""},
                                                                 {"f", "Zg=="},
                                                                 {"fo", "Zm8="},
                                                                 {"foo", "Zm9v"},
                                                                 {"foob", "Zm9vYg=="},
                                                                 {"fooba", "Zm9vYmE="},
                                                                 {"foobar", "Zm9vYmFy"},
                                                                 {"\xFB\xFF\0"s, "+/8A"}}));
  CHECK(to_base64(bytes) == text);
  CHECK(from_base64(text).value() == bytes);
}

TEST_CASE("every byte survives base64", "[base64]") {
  std::string bytes;
  for (int i = 0; i < 256 * 3 + 1; i++) bytes += static_cast<char>(i * 5);
  CHECK(from_base64(to_base64(bytes)).value() == bytes);
}

TEST_CASE("what is not base64 is refused", "[base64]") {
  auto text = GENERATE(values<std::string>({"Z", "Zg", "Zg=", "Zg==Zg==", "====", "=", "Z===", "Zm9v\n", "Zm 9", "Zm9-",
                                            "Zm9_", "Zh==", "Zm9=", "Zm\0v"s, "\xFF\xFF\xFF\xFF"}));
  CAPTURE(text);
  auto bytes = from_base64(text);
  REQUIRE_FALSE(bytes);
  CHECK(bytes.error().code == Code::invalid);
}

TEST_CASE("bytes have one base64 text only, whatever else decodes", "[base64]") {
  const std::string tried = "AQgz09+/=-_ \n\r\t\0\x80\xFF"s;
  size_t good = 0;
  for (size_t number = 0; number < tried.size() * tried.size() * tried.size() * tried.size(); number++) {
    std::string text = "Zm9v";
    for (size_t remaining = number, i = 0; i < 4; i++, remaining /= tried.size())
      text += tried[remaining % tried.size()];
    auto bytes = from_base64(text);
    if (!bytes) continue;
    good++;
    if (to_base64(*bytes) != text) FAIL_CHECK("two texts for the same bytes: " << text);
  }
  CHECK(good > 8 * 8 * 8 * 8);  // all texts of the 8 letters, and some with padding
}

TEST_CASE("a refusal of base64 names the first byte that is wrong", "[base64]") {
  CHECK(from_base64("Zm9vZm-v").error().what == "not base64: byte 6");
  CHECK(from_base64("Zg==Zg==").error().what == "not base64: byte 2");
  CHECK(from_base64("Zg").error().what == "not base64: its length is not a multiple of 4");
  CHECK(from_base64("Zh==").error().what == "not base64: bits are set beyond its end");
  const std::string large = std::string(4 << 20, 'A') + "A\nAA";
  CHECK(from_base64(large).error().what == "not base64: byte 4194305");
}

TEST_CASE("base64 as people send it is read: line ends, no padding, the alphabet for URLs", "[base64]") {
  for (const char* text : {"+/8A+/8A", "+/8A\n+/8A\n", "+/8A\r\n+/8A", " +/8A +/8A", "-_8A-_8A"})
    CHECK(from_sent_base64(text).value() == "\xFB\xFF\0\xFB\xFF\0"s);
  CHECK(from_sent_base64("Zg").value() == "f");
  CHECK(from_sent_base64("Zm8").value() == "fo");
  for (const char* text : {"Z", "Zg=", "Zg=a", "Zm9*", "Zh"}) CHECK_FALSE(from_sent_base64(text));
}
