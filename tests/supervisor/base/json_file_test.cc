#include "supervisor/base/json/json_file.h"

#include <string>

#include "supervisor/base/json/json_value.h"
#include "tests/catch.h"

namespace {
std::string error_of(std::string_view text) {
  const auto value = parse_json_file(text);
  return value ? "good" : value.error().what + (value.error().hint.empty() ? "" : " (" + value.error().hint + ")");
}
}  // namespace

TEST_CASE("parse_json_file reads what parse_json reads", "[json]") {
  for (const std::string_view text :
       {R"( {"a":[1,-2,3.5e-3,true,null,"x"],"b":{"c":{}},"d":[],"e":18446744073709551615} )", "7", "[]", "{}", "\"\"",
        R"({"a": {"x": 1}, "b": {"x": 1}, "c": [{"x": 1}, {"x": 1}]})", R"(["\ud83d\ude00 \" \\ \/ \u00e9 é"])", "-0",
        "[[],[[]],{}]\r\n"}) {
    CAPTURE(text);
    REQUIRE(error_of(text) == "good");
    CHECK(*parse_json_file(text) == *parse_json(text));
  }
}

TEST_CASE("a key that is there twice in an object is an error with both lines", "[json]") {
  CHECK(
      error_of("{\"calls\": {\"rules\": []},\n \"pool\": {},\n\n  \"calls\": {}}") ==
      "line 4, column 3: the key \"calls\" is there twice, first in line 1 (write it once: all but the last would have "
      "no effect)");
  CHECK(
      error_of("{\"a\": [{\"x\": 1,\n\"\\u0078\": 1}]}").starts_with("line 2, column 1: the key \"x\" is there twice"));
}

TEST_CASE("bytes that are not UTF-8 are an error with line and column", "[json]") {
  CHECK(error_of("{\n\"user\": \"caf\xe9\"}") ==
        "line 2, column 13: the byte 0xe9 is not UTF-8 (save the file as UTF-8)");
  CHECK(error_of("[\"é\", \"\xc3\"]").starts_with("line 1, column 8: the byte 0xc3"));
  CHECK(error_of("\xef\xbb\xbf{}").starts_with("line 1, column 1: a byte order mark"));
  CHECK(error_of("[\"\\ud800\"]").starts_with("line 1, column 3: half of a character"));
  CHECK(error_of("[\"\\ud83d\\ud83d\"]").starts_with("line 1, column 3: half of a character"));
}

TEST_CASE("an error of a file has its line and column and a remedy", "[json]") {
  struct Row {
    std::string_view text, error;
  };
  for (const auto& [text, error] : std::initializer_list<Row>{
           {"{\n  // the socket\n}", "not JSON: line 2, column 3: a comment (remove it: JSON has no comments)"},
           {"{} /* end */", "not JSON: line 1, column 4: a comment (remove it: JSON has no comments)"},
           {"# x\n{}", "not JSON: line 1, column 1: a comment (remove it: JSON has no comments)"},
           {"{\"a\": 1,\n}", "not JSON: line 1, column 8: a comma before } (remove it: JSON has no trailing commas)"},
           {"[1, 2, ]", "not JSON: line 1, column 6: a comma before ] (remove it: JSON has no trailing commas)"},
           {"{\"a\": 1\n \"b\": 2}", "not JSON: line 2, column 2: a comma is missing before this text"},
           {"{'a': 1}", "not JSON: line 1, column 2: a key in single quotes (JSON has double quotes)"},
           {"{\"a\": 'x'}", "not JSON: line 1, column 7: a text in single quotes (JSON has double quotes)"},
           {"{a: 1}", "not JSON: line 1, column 2: a key is missing (a key is a text in double quotes)"},
           {"{\"a\" 1}", "not JSON: line 1, column 6: a colon is missing after the key"},
           {"{\"a\": True}",
            "not JSON: line 1, column 7: True is no value of JSON (write true, false, or a text in "
            "double quotes)"},
           {"[007]",
            "not JSON: line 1, column 2: 007 is no value of JSON (write a decimal number, for example 7, -7 or "
            "0.7)"},
           {"{\"a\": }", "not JSON: line 1, column 7: a value is missing"},
           {"{\n\"a\": [1,\n",
            "not JSON: line 3, column 1: the file ends within the list that begins in line 2, column 6 "
            "(close it with ])"},
           {"{\"a\": \"x\n\"}",
            "not JSON: line 1, column 9: the line ends within a text (close the text with \", or "
            "write \\n for a line end)"},
           {"{\"a\": \"x", "not JSON: line 1, column 7: a text without an end (close the text with \")"},
           {"[\"C:\\dir\"]",
            "not JSON: line 1, column 5: a backslash that begins no escape (write \\\\ for a "
            "backslash)"},
           {"{\"a\": [1}", "not JSON: line 1, column 9: } does not close the [ of line 1, column 7"},
           {"{} {}", "not JSON: line 1, column 4: further text after the end of the value (remove it)"},
           {" \n", "not JSON: line 2, column 1: the file has no value (begin the file with {)"},
       }) {
    CAPTURE(text);
    CHECK(error_of(text) == error);
  }
  CHECK(error_of(std::string_view("{\0}", 3)).starts_with("not JSON: line 1, column 2"));
  CHECK(error_of(std::string(65, '[') + std::string(65, ']')) == "line 1, column 65: nested deeper than 64");
  CHECK(error_of(std::string(1 << 20, '[')) == "line 1, column 65: nested deeper than 64");
}

TEST_CASE("what parse_json_file takes is JSON for parse_json, and other texts are refused by both", "[json]") {
  const std::string full = R"({"a": [1, -2.5e3, "x\n\u00e9"], "b": {"c": null, "d": [true, {}]}})";
  for (size_t at = 0; at < full.size(); at++) {
    for (const char c : {'"', '{', '}', '[', ']', ',', ':', '0', '-', 'e', 't', '\\', ' ', '\n', '/'}) {
      std::string text = full;
      text[at] = c;
      CAPTURE(text);
      const auto strict = parse_json_file(text), plain = parse_json(text);
      if (strict) CHECK(plain);
      // Further defects: a key twice. Half of a character is not among these texts.
      if (!strict && plain) CHECK(strict.error().what.find("twice") != std::string::npos);
    }
  }
}
