#include "supervisor/base/deceiving_text.h"

#include <string>

#include "tests/catch.h"

TEST_CASE("characters that deceive a reader are known", "[text]") {
  for (const char* text : {"\n", "\t", "\x1b", "\x7f", "\u0085", "\u061c", "\u200b", "\u200f", "\u2028", "\u202a",
                           "\u202e", "\u2060", "\u2066", "\u2069", "\ufeff", "\U000e0041"}) {
    CAPTURE(text);
    CHECK(deceiving_bytes(text) == std::string(text).size());
    CHECK(deceiving_bytes(std::string(text) + "more") == std::string(text).size());
  }
  CHECK(deceiving_bytes(std::string_view("\0", 1)) == 1);
}

TEST_CASE("other characters are left alone", "[text]") {
  for (const char* text : {"", "a", " ", "\u00a0", "é", "漢", "\u200a", "\u2010", "\u2027", "\u202f", "\u205f",
                           "\u2070", "\uff01", "😀", "\U000e0100"})
    CHECK(deceiving_bytes(text) == 0);
}
