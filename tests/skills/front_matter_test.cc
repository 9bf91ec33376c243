#include "skills/front_matter.h"

#include "tests/catch.h"

namespace {

std::string framed(const std::string& head) { return "---\n" + head + "---\nbody\n"; }

}  // namespace

TEST_CASE("front matter is read as YAML reads it", "[skills]") {
  auto [head, expected] = GENERATE(table<std::string, std::string>({
      {"name: pdf\n", R"({"name":"pdf"})"},
      {"a: x: y\n", ""},
      {"a: \"x: \\\"y\\\" \\u00e9\"  # why\n", R"({"a":"x: \"y\" é"})"},
      {"a: 'it''s # one'\n", R"({"a":"it's # one"})"},
      {"a: plain text # comment\nb: no#comment\n", R"({"a":"plain text","b":"no#comment"})"},
      {"a: 1\nb: -2.50\nc: 1e3\nd: 007\ne: 1.2.3\nf: 2026-11-21\n",
       R"({"a":1,"b":-2.5,"c":1000.0,"d":7,"e":"1.2.3","f":"2026-11-21"})"},
      {"a: true\nb: null\nc: ~\nd:\ne: No\n", R"({"a":true,"b":null,"c":null,"d":null,"e":"No"})"},
      {"# nothing\n\nmetadata:\n  version: \"1.0\"\n  author: me\nlast: 1\n",
       R"({"metadata":{"version":"1.0","author":"me"},"last":1})"},
      {"tools:\n  - Bash(git:*)\n  - 'Read'\nother:\n- 1\n- two\n",
       R"j({"tools":["Bash(git:*)","Read"],"other":[1,"two"]})j"},
      {"a: |\n  one\n    two\n\n  # three\nb: 1\n", "{\"a\":\"one\\n  two\\n\\n# three\\n\",\"b\":1}"},
      {"a: >-\n  one\n  two\n\n  three\n", "{\"a\":\"one two\\nthree\"}"},
      {"a: >\n  one\n  two\n", "{\"a\":\"one two\\n\"}"},
      {"", "{}"},
  }));
  CAPTURE(head);
  const std::string text = framed(head);
  auto parsed = skills::parse_front_matter(text);
  if (expected.empty()) {
    CHECK_FALSE(parsed);
  } else {
    REQUIRE(parsed);
    CHECK(parsed->fields == Json::parse(expected));
    CHECK(parsed->body == "body\n");
  }
}

TEST_CASE("line ends of other systems and a missing last one are read", "[skills]") {
  CHECK(skills::parse_front_matter("---\r\nname: x\r\n---\r\nbody")->fields["name"] == "x");
  auto front_matter = skills::parse_front_matter("---\nname: x\n---");
  REQUIRE(front_matter);
  CHECK(front_matter->body.empty());
}

TEST_CASE("front matter that would grow, or that is another YAML, is refused by line", "[skills]") {
  std::string many;
  for (int i = 0; i < 70; i++) many += "k" + std::to_string(i) + ": 1\n";
  auto [head, message] = GENERATE_COPY(table<std::string, std::string>({
      {"a: &x [1]\n", "line 2"},  // anchors and aliases: the billion laughs
      {"a: *x\n", "line 2"},
      {"a: !!python/object:os.system x\n", "line 2"},
      {"ok: 1\na: {b: 1}\n", "line 3"},
      {"a: [1, 2]\n", "line 2"},
      {"a:\n  b:\n    c: 1\n", "nested too deeply"},
      {"a:\n  - - 1\n", "line 3"},
      {"<<: *base\n", "line 2"},
      {"a: 1\na: 2\n", "'a' is listed twice"},
      {"a: one\n  two\n", "line 3"},
      {"\ta: 1\n", "tab"},
      {"a: \"open\n", "quotes"},
      {"a: 'open\n", "quotes"},
      {"a: \"x\\x41\"\n", "escape"},
      {"a: .inf\n", "this form of a number"},
      {"just text\n", "key: value"},
      {"a: \xff\xfe\n", "UTF-8"},
      {std::string("a: \0b\n", 6), "UTF-8"},
      {many, "more than 64 keys"},
      {"a: " + std::string(20'000, 'x') + "\n", "longer than"},
  }));
  CAPTURE(head.substr(0, 80));
  auto parsed = skills::parse_front_matter(framed(head));
  REQUIRE_FALSE(parsed);
  CHECK(parsed.error().code == Code::invalid);
  CHECK_THAT(parsed.error().what, Catch::Contains(message));
}

TEST_CASE("a text without front matter is told from one that does not end", "[skills]") {
  CHECK_THAT(skills::parse_front_matter("# Title\n").error().what, Catch::Contains("line 1"));
  CHECK_FALSE(skills::parse_front_matter(""));
  CHECK_THAT(skills::parse_front_matter("---\nname: x\n").error().what, Catch::Contains("at its end is missing"));
}
