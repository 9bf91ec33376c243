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
