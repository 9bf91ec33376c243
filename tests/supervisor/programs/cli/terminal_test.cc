#include "supervisor/programs/cli/terminal.h"

#include "tests/catch.h"

using cli::for_terminal;

TEST_CASE("what drives a terminal is made visible", "[cli]") {
  CHECK(for_terminal("Grüße,\t漢字 😀\n") == "Grüße,\t漢字 😀\n");
  CHECK(for_terminal("\x1b]0;title\x07\r\x7f") == "\\x1b]0;title\\x07\\x0d\\x7f");
  CHECK(for_terminal("\xc2\x9b"
                     "2J") == "\\x9b2J");
  CHECK(for_terminal("") == "");
}

TEST_CASE("what is not seen, or changes the direction of writing, is made visible", "[cli]") {
  CHECK(for_terminal("invoice_\u202Egpj.exe") == "invoice_\\u202egpj.exe");
  CHECK(for_terminal("a\u200B\u200F\uFEFF\u061Cb") == "a\\u200b\\u200f\\ufeff\\u061cb");
  CHECK(for_terminal("\u202A\u2066\u2069\u2028") == "\\u202a\\u2066\\u2069\\u2028");
  CHECK(for_terminal("a\U000E0041b") == "a\\U000e0041b");
}

TEST_CASE("what is no UTF-8 cannot hide anything", "[cli]") {
  CHECK(for_terminal("\xff\xe2\x80") == "\uFFFD\uFFFD");
  CHECK(for_terminal("\xe2\x80\x1b[2J") == "\uFFFD\\x1b[2J");
}
