// The reader of JSON text agrees with nlohmann's parser: what that accepts, ours does, with the same value but for the
// digits of long numbers. What ours repairs or refuses is compared, too.
#include "supervisor/base/json/strict_json.h"

#include <random>

#include "supervisor/base/json/exact_number.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "tests/catch.h"

namespace {

// The same types, values and orders of keys; -0.0 is not 0.0.
bool same(const Json& a, const Json& b) {
  if (a.type() != b.type() || a.size() != b.size()) return false;
  if (!a.is_structured()) return dump_json(a) == dump_json(b);
  auto other = b.begin();
  for (auto it = a.begin(); it != a.end(); ++it, ++other) {
    if (a.is_object() && it.key() != other.key()) return false;
    if (!same(*it, *other)) return false;
  }
  return true;
}

const std::vector<std::string>& documents() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> texts = {
        // Right in every byte.
        R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t","arguments":{"a":[1,-2,3.5,true,null]}}})",
        " \t\r\n[ ] \n",
        "{}",
        "[[],{},\"\",0]",
        R"({"z":1,"a":2,"m":{"y":3,"x":4},"z":5,"a":{"z":6}})",
        R"(["\"\\\/\b\f\n\r\t\u0000\u001f\u007f\u00e9\u20ac\ud83d\ude00"])",
        "[\"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \xf4\x8f\xbf\xbf \xed\x9f\xbf \xee\x80\x80\"]",
        "[0,-0,0.0,-0.0,1e0,1E+2,1e-2,-1.5e3,0e5,0.1,1.0,100]",
        "[9223372036854775807,9223372036854775808,18446744073709551615,-9223372036854775808]",
        "[18446744073709551616,-9223372036854775809,123456789012345678901234567890]",
        "[9007199254740993.0,0.30000000000000004,2.2250738585072011e-308,1.7976931348623157e308,5e-324,4.35,0.000035]",
        "[3.141592653589793238462643383279502884197169399375105820974944592307816406286,8.5e15,123456789.123456789e-5]",
        "true",
        "false",
        "null",
        "-1",
        "\"\"",
        std::string(64, '[') + std::string(64, ']'),
        // Repaired: lone surrogates, bytes that are no UTF-8, a mark of byte order.
        R"(["\ud800","\udc00","\ud800\ud800","\ude00\ud83d","\ud83dx","\ud83d\n","\uD83D\u0041"])",
        "[\"\xff\",\"\xc0\xaf\",\"\xed\xa0\x80\",\"\xf4\x90\x80\x80\",\"\xe2\x82\"]",
        "\xef\xbb\xbf{\"a\":1}",
        // Refused.
        "",
        " ",
        "[",
        "]",
        "{",
        "}",
        "[1,]",
        "[,1]",
        "{\"a\":1,}",
        "{\"a\" 1}",
        "{a:1}",
        "{'a':1}",
        "[1 2]",
        "1 2",
        "[1]x",
        "[1],",
        "{\"a\":1}{\"b\":2}",
        "nul",
        "nulL",
        "truefalse",
        "NaN",
        "[Infinity]",
        "+1",
        "01",
        "-01",
        "-",
        "1.",
        ".5",
        "1e",
        "1e+",
        "0x10",
        "1e999",
        "-1e999",
        "[1e-999]",
        "1e2147483648",
        "1e-2147483649",
        "\"a",
        "\"\\\"",
        "\"\\x41\"",
        "\"\\u12\"",
        "\"\\u12g4\"",
        "\"a\nb\"",
        "\"a\tb\"",
        std::string("\"a\0b\"", 5),
        std::string("[1]\0", 4),
        std::string("\0", 1),
        "// no\n[1]",
        "[1/* no */]",
        "[1]//",
        std::string(65, '[') + std::string(65, ']'),
        std::string(70, '[') + "x",
        "[\"\xff\"," + std::string(64, '[') + std::string(64, ']') + "]",
        "[1}",
        "{\"a\":[1}]",
        "{1:2}",
        "{null:2}",
        "{\"a\"}",
        "{\"\\ud800\":1,\"\\ud800\":2}",
    };
    // Strings longer than what a parser holds at once, with something at its edges.
    for (const char* part :
         {"\\n", "\\u20ac", "\\ud83d\\ude00", "\\ud83d", "\xf0\x9f\x98\x80", "\xe2\x82", "\"", "\x01"})
      for (size_t length : {14, 15, 16, 31, 32, 4090, 4094, 4095, 4096, 4097, 9000})
        texts.push_back("{\"" + std::string(length, 'k') + part + "\":[\"\\t" + std::string(length, 'x') + part +
                        "y\"]}");
    // Whatever a byte more, less or changed makes of each of them.
    std::mt19937 random(20261123);
    const std::string bytes = "{}[]:,\"\\/ \n0123456789-+.eEtrufalsnxd\x80\xc3\xed\xa0\xf0\xff\x01";
    for (size_t i = 0, originals = texts.size(); i < 4000; i++) {
      std::string text = texts[random() % originals];
      for (size_t changes = 1 + random() % 3; changes > 0; changes--) {
        const size_t at = random() % (text.size() + 1);
        const char byte = bytes[random() % bytes.size()];
        const auto how = random() % 3;
        if (how == 0) text.insert(at, 1, byte);
        if (how == 1 && at < text.size()) text.erase(at, 1);
        if (how == 2 && at < text.size()) text[at] = byte;
      }
      texts.push_back(std::move(text));
    }
    return texts;
  }();
  return all;
}

}  // namespace

namespace {

// `value` with the numbers that nlohmann's parser makes of exact ones.
Json rounded(const Json& value) {
  if (is_exact_number(value)) return exact_digits(value) == "-0" ? Json(0) : Json(nearest_double(value));
  if (!value.is_structured()) return value;
  Json all = value;
  for (Json& item : all) item = rounded(item);
  return all;
}

// What nlohmann's parser makes of `text`; empty: nothing, or too deep.
std::optional<Json> by_nlohmann(const std::string& text) {
  Json value = Json::parse(text, nullptr, false);
  const bool full = text.find('\0') == text.npos && parse_json(dump_json(value)).has_value();
  if (value.is_discarded() || !full) return {};
  return value;
}

}  // namespace

TEST_CASE("what nlohmann's parser takes is read as the same value, and what is read is written and read again",
          "[json]") {
  size_t equal = 0, repaired = 0, refused = 0;
  for (const std::string& text : documents()) {
    const auto read = parse_json(text);
    const auto existing = by_nlohmann(text);
    INFO(text.substr(0, 400));
    // nlohmann makes 0 of 1e-2147483649; an exponent of more than 9 digits is an error here.
    const bool is_bounded = existing && !read && read.error().what.find("exponent") != std::string::npos;
    if (is_bounded) continue;
    if (existing) REQUIRE(read);
    if (existing) REQUIRE(dump_json(rounded(*read)) == dump_json(*existing));
    if (read) {
      const auto retry = parse_json(dump_json(*read));
      REQUIRE(retry);
      REQUIRE(same(*read, *retry));
    }
    if (const auto strict = read_strict_json(text, kMaxJsonDepth); strict && *strict) REQUIRE(same(**strict, *read));
    (existing ? equal : read ? repaired : refused)++;
  }
  // Each kind is there, so that the comparison compares something.
  CHECK(equal > 500);
  CHECK(repaired > 50);
  CHECK(refused > 1000);
}

TEST_CASE("the fast reader takes whatever is right in every byte", "[json]") {
  for (size_t i = 0; i < 18; i++) {
    INFO(documents()[i]);
    const auto value = read_strict_json(documents()[i], kMaxJsonDepth);
    REQUIRE(value);
    CHECK(*value);
  }
}

TEST_CASE("the fast reader can refuse a key that an object has twice", "[json]") {
  std::string many = "{";
  for (int i = 0; i < 40; i++) many += "\"k" + std::to_string(i) + "\":0,";
  for (const std::string& text :
       {std::string(R"({"a":1,"a":1})"), std::string(R"([{"a":{"x":1,"y":2,"\u0078":3}}])"), many + "\"k7\":1}"}) {
    INFO(text);
    CHECK(read_strict_json(text, kMaxJsonDepth));
    CHECK_FALSE(read_strict_json(text, kMaxJsonDepth, RepeatedKeys::refuse));
  }
  for (const std::string& text : {std::string(R"({"a":{"a":[{"a":1},{"a":2}]},"b":{"a":0}})"), many + "\"k\":1}"}) {
    INFO(text);
    const auto value = read_strict_json(text, kMaxJsonDepth, RepeatedKeys::refuse);
    REQUIRE(value);
    CHECK(same(**value, *parse_json(text)));
  }
}

TEST_CASE("numbers beyond doubles are small for other parsers, in a text of the same length", "[json]") {
  CHECK(with_small_numbers(R"({"1e400":[1e400,-12,1234567890123456,-0.1e-999,"1e400 \" 1e400",0]})") ==
        R"({"1e400":[1.000,-12,1.00000000000000,-1.000000,"1e400 \" 1e400",0]})");
  CHECK(with_small_numbers("1e 2e+ 01e2 1.5e3.4") == "1e 2e+ 01.0 1.000.4");
}
