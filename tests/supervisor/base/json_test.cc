#include "supervisor/base/json/json.h"

#include <fmt/format.h>

#include "supervisor/base/json/json_value.h"
#include "tests/catch.h"

namespace {
std::string in_quotes(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}
std::string nested(int depth) { return std::string(depth, '[') + std::string(depth, ']'); }
}  // namespace

TEST_CASE("parse_json reads every kind of value", "[json]") {
  auto value = parse_json(R"( {"a":[1,-2,3.5,true,null,"x"],"b":{"c":{}},"d":[],"a2":18446744073709551615} )");
  REQUIRE(value);
  Json expected = {{"a", {1, -2, 3.5, true, nullptr, "x"}}, {"b", {{"c", Json::object()}}}, {"d", Json::array()}};
  expected["a2"] = UINT64_MAX;
  CHECK(*value == expected);
  CHECK(parse_json("7")->get<int>() == 7);
}

TEST_CASE("the last of two equal keys counts", "[json]") {
  CHECK(*parse_json(R"({"a":{"x":1},"a":[2]})") == Json({{"a", {2}}}));
}

TEST_CASE("parse_json says what is wrong and where", "[json]") {
  auto [text, message] = GENERATE(table<std::string, std::string>({
      {"",
       "not JSON: syntax error while parsing value - unexpected end of input; expected '[', '{', or a literal (byte "
       "1)"},
      {"{\"a\":1", "not JSON: syntax error while parsing object - unexpected end of input; expected '}' (byte 7)"},
      {"[1,]", "not JSON: syntax error while parsing value - unexpected ']'; expected '[', '{', or a literal (byte 4)"},
      {"nope", "not JSON: syntax error while parsing value - invalid literal (byte 2)"},
      {"1 2", "not JSON: syntax error while parsing value - unexpected number literal; expected end of input (byte 3)"},
  }));
  auto value = parse_json(text);
  REQUIRE_FALSE(value);
  CHECK(value.error().code == Code::invalid);
  CHECK(value.error().what == message);
}

TEST_CASE("a NUL byte is no end of a text", "[json]") {
  using namespace std::string_view_literals;
  for (std::string_view text : {"1\0"sv,
                                "123\0"
                                "456"sv,
                                "{}\0{}"sv, "\0"sv, "\"a\0b\""sv,
                                "[1,\0"
                                "2]"sv}) {
    const auto value = parse_json(text);
    REQUIRE_FALSE(value);
    CHECK(value.error().what.starts_with("not JSON: a NUL byte"));
  }
}

TEST_CASE("an error about a huge broken text is short and printable", "[json]") {
  auto value = parse_json("[1e" + std::string(1 << 20, '9') + "\x1b]");
  REQUIRE_FALSE(value);
  CHECK(value.error().what.size() < 300);
  value = parse_json("\"" + std::string(1 << 20, 'x'));
  REQUIRE_FALSE(value);
  CHECK(value.error().what.size() < 300);
}

TEST_CASE("nesting is limited before it can hurt", "[json]") {
  CHECK(parse_json(nested(64)));
  auto value = parse_json(nested(65));
  REQUIRE_FALSE(value);
  CHECK(value.error().what == "nested deeper than 64");
  CHECK(parse_json(std::string(5'000'000, '[')).error().what == "nested deeper than 64");
  std::string objects;
  for (int i = 0; i < 100'000; i++) objects += "{\"a\":";
  CHECK(parse_json(objects).error().what == "nested deeper than 64");
  // Also where the text needs repair first.
  CHECK(parse_json("[\"\xff\"," + nested(64) + "]").error().what == "nested deeper than 64");
  CHECK(parse_json("[[1]]", 1).error().what == "nested deeper than 1");
  CHECK(parse_json("{\"a\":1}", 1));
}

TEST_CASE("lone surrogates become U+FFFD and pairs stay", "[json]") {
  auto [text, expected] = GENERATE(table<std::string, std::string>({
      {R"("\ud800")", "\xef\xbf\xbd"},
      {R"("a\udfffb")",
       "a\xef\xbf\xbd"
       "b"},
      {R"("\uD83D\uDE00 \ud83d")", "\xf0\x9f\x98\x80 \xef\xbf\xbd"},
      {R"("\ud83d\ud83d\ude00")", "\xef\xbf\xbd\xf0\x9f\x98\x80"},
      {R"("\\ud800 \ud800")", "\\ud800 \xef\xbf\xbd"},
      {R"("\ud800\n")", "\xef\xbf\xbd\n"},
      {R"("\ude00\ud83d")", "\xef\xbf\xbd\xef\xbf\xbd"},
  }));
  CAPTURE(text);
  auto value = parse_json(text);
  REQUIRE(value);
  CHECK(value->get<std::string>() == expected);
}

TEST_CASE("a lone surrogate in a key is repaired as well", "[json]") {
  auto value = parse_json(R"({"\ud800":1})");
  REQUIRE(value);
  CHECK(value->begin().key() == "\xef\xbf\xbd");
}

TEST_CASE("repair never reads past the end", "[json]") {
  for (auto text : {"\"\\", "\"\\u", "\"\\ud80", "\"\\ud800\\", "\"\\ud800\\u", "\"\\ud800\\ud", "\\"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_json(text));
  }
}

TEST_CASE("valid_utf8 replaces what is broken and nothing else", "[json]") {
  const std::string fffd = "\xef\xbf\xbd";
  auto [text, expected] = GENERATE_COPY(table<std::string, std::string>({
      {"plain", "plain"},
      {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
      {"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"},         // U+10FFFF, the last one
      {"\xf4\x90\x80\x80", fffd + fffd + fffd + fffd},  // above it
      {"\xed\xa0\x80", fffd + fffd + fffd},             // a surrogate
      {"\xc0\xaf", fffd + fffd},                        // overlong '/'
      {"\xe0\x80\xaf", fffd + fffd + fffd},             // overlong '/'
      {"a\xe2\x82"
       "b",
       "a" + fffd + "b"},         // one for the broken start
      {"\xf0\x9f\x98", fffd},     // cut at the end
      {"\x80\xbf", fffd + fffd},  // continuations alone
      {"12345678\xff"
       "12345678",
       "12345678" + fffd + "12345678"},
  }));
  CHECK(valid_utf8(text) == expected);
}

TEST_CASE("invalid UTF-8 inside of JSON is repaired on the way in", "[json]") {
  auto value = parse_json(
      "{\"k\":\"a\xff"
      "b\"}");
  REQUIRE(value);
  CHECK((*value)["k"] ==
        "a\xef\xbf\xbd"
        "b");
}

TEST_CASE("whole_utf8_prefix cuts only a sequence that is not finished", "[json]") {
  auto [text, full] = GENERATE(table<std::string, size_t>({
      {"", 0},
      {"abc", 3},
      {"ab\xc3", 2},
      {"ab\xc3\xa9", 4},
      {"ab\xe2\x82", 2},
      {"ab\xe2\x82\xac", 5},
      {"ab\xf0\x9f\x98", 2},
      {"\xf0\x9f", 0},
      {"ab\xff", 3},
      {"ab\x80\x80\x80\x80", 6},
      {"ab\xe0\x80", 4},
  }));
  CAPTURE(text);
  CHECK(whole_utf8_prefix(text) == full);
}

TEST_CASE("strings are quoted so that every line reader sees one line", "[json]") {
  auto [text, expected] = GENERATE(table<std::string, std::string>({
      {"", R"("")"},
      {"a\"b\\c", R"("a\"b\\c")"},
      {"\n\r\t\b\f", R"("\n\r\t\b\f")"},
      {std::string("\0\x1f\x7f", 3), R"("\u0000\u001f\u007f")"},
      {"\xe2\x80\xa8\xe2\x80\xa9\xc2\x85", R"("\u2028\u2029\u0085")"},
      {"\xe2\x80\xaa\xc2\x86", "\"\xe2\x80\xaa\xc2\x86\""},
      {"x\xff", "\"x\xef\xbf\xbd\""},
      {"caf\xc3\xa9", "\"caf\xc3\xa9\""},
  }));
  CHECK(in_quotes(text) == expected);
}

TEST_CASE("quoting finds each special byte at each place of a word", "[json]") {
  // The scanner looks at eight bytes at a time.
  for (int c = 0; c < 256; c++) {
    for (size_t index = 0; index < 17; index++) {
      std::string text(17, 'a');
      text[index] = static_cast<char>(c);
      std::string valid = valid_utf8(text);
      const std::string quoted = in_quotes(text);
      if (Json::parse(quoted) != valid || quoted.find_first_of("\x7f\n") != quoted.npos)
        FAIL("byte " << c << " at " << index << ": " << quoted);
    }
  }
}

TEST_CASE("dump_json writes what parse_json reads", "[json]") {
  const std::string text = R"({"a":[1,-2,3.5,true,false,null,"x\n",[],{}],"b":{"c":{"d":[[[]]]}},"e":1e+300,"f":2.0})";
  auto value = parse_json(text);
  REQUIRE(value);
  CHECK(dump_json(*value) == text);
  CHECK(*parse_json(dump_json(*value)) == *value);
  CHECK(dump_json(Json(INT64_MIN)) == "-9223372036854775808");
  CHECK(dump_json(Json(UINT64_MAX)) == "18446744073709551615");
  CHECK(dump_json(Json(0.1)) == "0.1");
  CHECK(dump_json(Json()) == "null");
}

TEST_CASE("objects keep the order of their keys", "[json]") {
  Json value;
  value["z"] = 1;
  value["a"] = Json::array({"x"});
  CHECK(dump_json(value) == R"({"z":1,"a":["x"]})");

  SECTION("when they are read") {
    const std::string text = R"({"zebra":4,"ape":{"y":3,"x":2},"mule":1})";
    CHECK(dump_json(*parse_json(text)) == text);
    CHECK(dump_json(Json(*parse_json(text))) == text);
  }
  SECTION("of a key that comes twice the last value counts, at the first place") {
    CHECK(dump_json(*parse_json(R"({"b":1,"a":2,"b":3})")) == R"({"b":3,"a":2})");
  }
  SECTION("when keys go and come") {
    value["m"] = 2;
    value.erase("z");
    value["z"] = 3;
    CHECK(dump_json(value) == R"({"a":["x"],"m":2,"z":3})");
  }
  SECTION("two objects are equal whatever their order") {
    CHECK(*parse_json(R"({"a":1,"b":{"c":2,"d":3}})") == *parse_json(R"({"b":{"d":3,"c":2},"a":1})"));
    CHECK(*parse_json(R"({"a":1})") != *parse_json(R"({"b":1})"));
    CHECK(*parse_json(R"({"a":1,"b":2})") != *parse_json(R"({"a":1})"));
  }
}

TEST_CASE("an object of many keys finds each of them, and keeps their order", "[json]") {
  std::string text = "{";
  for (int i = 0; i < 100'000; i++) text += fmt::format("{}\"k{}\":{}", i == 0 ? "" : ",", (i * 7919) % 100'000, i);
  text += "}";
  auto value = parse_json(text);
  REQUIRE(value);
  CHECK(value->size() == 100'000);
  CHECK((*value)["k7919"] == 1);
  CHECK(value->find("absent") == value->end());
  CHECK(dump_json(*value) == text);
  for (int i = 1; i < 100'000; i++) value->erase(fmt::format("k{}", i));
  CHECK(dump_json(*value) == R"({"k0":0})");
  (*value)["new"] = 1;
  CHECK(dump_json(*value) == R"({"k0":0,"new":1})");
}

TEST_CASE("dump_json has an answer for what JSON cannot say", "[json]") {
  CHECK(dump_json(Json(std::numeric_limits<double>::quiet_NaN())) == "null");
  CHECK(dump_json(Json::binary({1, 2})) == "null");
  CHECK(dump_json(Json("\xff")) == "\"\xef\xbf\xbd\"");
  CHECK(dump_json(Json({{"\xff\x7f", 1}})) == "{\"\xef\xbf\xbd\\u007f\":1}");
}

TEST_CASE("dump_json survives a value deeper than its stack", "[json]") {
  constexpr int kDeep = 200'000;
  Json value = Json::array();
  for (int i = 1; i < kDeep; i++) {
    Json outer = Json::array();
    outer.push_back(std::move(value));
    value = std::move(outer);
  }
  CHECK(dump_json(value) == nested(kDeep));
}
