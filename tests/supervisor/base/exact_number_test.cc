#include "supervisor/base/json/exact_number.h"

#include "supervisor/base/json/fields.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_text.h"
#include "supervisor/base/json/value_bytes.h"
#include "supervisor/programs/cli/indented_json.h"
#include "tests/catch.h"

namespace {

Json read(std::string_view text) {
  auto value = parse_json(text);
  REQUIRE(value);
  return *std::move(value);
}

int order(std::string_view a, std::string_view b) {
  const auto compared = compare_numbers(read(a), read(b));
  return compared < 0 ? -1 : compared > 0 ? 1 : 0;
}

}  // namespace

TEST_CASE("digits that neither 64 bits nor a double holds are written as they were read", "[json]") {
  for (const char* text :
       {"18446744073709551616", "-9223372036854775809", "12345678901234567890123", "1e400", "-1E+400", "1e-400", "-0",
        "3.14159265358979323846", "12345678901234567.0", "1.2345e-320", "0.1000000000000000055511151231257827"}) {
    CAPTURE(text);
    const Json value = read(text);
    CHECK(is_exact_number(value));
    CHECK(is_number(value));
    CHECK(dump_json(value) == text);
    CHECK(dump_json_ascii(value) == text);
    CHECK(indented_json(Json::array({value})) == "[\n  " + std::string(text) + "\n]\n");
  }
  const std::string digits(kMaxNumberBytes, '7');
  CHECK(dump_json(read(digits)) == digits);
}

TEST_CASE("numbers that 64 bits or a double hold are ordinary ones", "[json]") {
  for (const char* text :
       {"0", "-1", "9007199254740993", "18446744073709551615", "-9223372036854775808", "0.1", "1e300",
        "0.30000000000000004", "0.10000000000000001", "1.10", "-0.0", "5e-324", "0e9", "2.2250738585072014e-308"}) {
    CAPTURE(text);
    CHECK(read(text).is_number());
    CHECK_FALSE(is_exact_number(read(text)));
  }
}

TEST_CASE("a number of a million digits is refused by its limit, and so are too many exact numbers", "[json]") {
  CHECK(parse_json("[" + std::string(1'000'000, '9') + "]").error().what ==
        "a number of 1000000 bytes; at most 4096 are allowed");
  CHECK(parse_json("[0." + std::string(1'000'000, '9') + "]").error().what ==
        "a number of 1000002 bytes; at most 4096 are allowed");
  CHECK(parse_json("1e" + std::string(4000, '9')).error().what == "a number with an exponent of more than 9 digits");
  CHECK(parse_json("1e000000000000000400"));
  std::string many = "[-0";
  for (size_t i = 0; i < kMaxExactNumbers; i++) many += ",-0";
  CHECK(parse_json(many + "]").error().what == "more than 262144 numbers that neither 64 bits nor a double holds");
}

TEST_CASE("exact numbers survive the repair of a text, and its error names what is wrong", "[json]") {
  CHECK(dump_json(read(R"([1e400,"\ud800",12345678901234567890123])")) ==
        "[1e400,\"\xef\xbf\xbd\",12345678901234567890123]");
  CHECK(parse_json("[1e400,}").error().what ==
        "not JSON: syntax error while parsing value - unexpected '}'; expected '[', '{', or a literal (byte 8)");
}

TEST_CASE("numbers are compared by their values", "[json]") {
  CHECK(order("1e400", "9e399") == 1);
  CHECK(order("1e400", "10e399") == 0);
  CHECK(order("-1e400", "1") == -1);
  CHECK(order("-2e400", "-1e400") == -1);
  CHECK(order("18446744073709551616", "18446744073709551615") == 1);
  CHECK(order("100000000000000000000", "1e20") == 0);
  CHECK(order("3.14159265358979323846", "3.14159265358979323845") == 1);
  CHECK(order("-0", "0") == 0);
  CHECK(order("1e-400", "0") == 1);
  CHECK(are_equal(read(R"({"a":[1e2,100000000000000000000]})"), read(R"({"a":[100,1e20]})")));
  CHECK_FALSE(are_equal(read("[1e400]"), read("[1e401]")));
  CHECK_FALSE(are_equal(read("[1e400]"), read("[\"1e400\"]")));
  CHECK(canonical_number(read("100.0")) == canonical_number(read("100")));
  CHECK(canonical_number(read("1e20")) == canonical_number(read("100000000000000000000")));
}

TEST_CASE("whole numbers and multiples of any size", "[json]") {
  for (const char* text : {"1e400", "-0", "12345678901234567890123", "1.5e400", "2.0", "7"}) {
    CAPTURE(text);
    CHECK(is_whole_number(read(text)));
  }
  for (const char* text : {"1e-400", "3.14159265358979323846", "0.5"}) CHECK_FALSE(is_whole_number(read(text)));
  CHECK(is_multiple_of(read("12345678901234567890120"), Json(10)));
  CHECK_FALSE(is_multiple_of(read("12345678901234567890123"), Json(10)));
  CHECK(is_multiple_of(read("1e400"), Json(5)));
  CHECK_FALSE(is_multiple_of(read("1e400"), Json(3)));
  CHECK_FALSE(is_multiple_of(read("1e-400"), Json(3)));
}

TEST_CASE("the nearest double of an exact number is finite", "[json]") {
  CHECK(nearest_double(read("1e400")) == std::numeric_limits<double>::max());
  CHECK(nearest_double(read("-1e400")) == std::numeric_limits<double>::lowest());
  CHECK(nearest_double(read("1e-400")) == 0);
  CHECK(nearest_double(read("3.14159265358979323846")) == 3.14159265358979323846);
}

TEST_CASE("fields read exact numbers by their values, and the length of a value counts their digits", "[json]") {
  const Json object = read(R"({"a":1e400,"b":-0,"c":0.10000000000000000000001,"d":12345678901234567890123})");
  Fields in(object, "");
  CHECK(in.number("a", 0, 9).error().what == "a: 1e400 is outside 0..9");
  CHECK(in.integer("b", 0, 9).value() == 0);
  CHECK(in.number("c", 0, 9).value() == 0.1);
  CHECK(in.integer("c", 0, 9).error().what == "c: 0.10000000000000000000001 is not an integer");
  CHECK(in.integer("d", 0, 9).error().what == "d: 12345678901234567890123 is outside 0..9");
  CHECK(rough_length(read(std::string(4000, '7'))) > 4000);
}
