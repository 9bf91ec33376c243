
#include "supervisor/base/json/fields.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "tests/catch.h"

TEST_CASE("Fields reads each kind of field", "[fields]") {
  Json object = {{"n", 1.5},    {"i", 7},          {"whole", 5.0},   {"b", true},
                 {"s", "text"}, {"l", {"x", "y"}}, {"none", nullptr}};
  Fields in(object, "limits");
  CHECK(in.number("n", 0, 2).value() == 1.5);
  CHECK(in.integer("i", 0, 10).value() == 7);
  CHECK(in.integer("whole", 0, 10).value() == 5);  // a JSON number, however it is written
  CHECK(in.boolean_or("b", false).value());
  CHECK(in.string("s").value() == "text");
  CHECK(in.strings_or("l", {}).value() == std::vector<std::string>{"x", "y"});
  CHECK_FALSE(in.has("none"));
  CHECK(in.find("none") == nullptr);
  CHECK(in.done());
}

TEST_CASE("Fields takes the fallback where a field is absent or null", "[fields]") {
  Json object = {{"none", nullptr}};
  Fields in(object, "");
  CHECK(in.integer_or("none", 0, 1, 9).value() == 9);
  CHECK(in.boolean_or("b", true).value());
  CHECK(in.string_or("s", "x").value() == "x");
  CHECK(in.one_of("o", {"a"}, "z").value() == "z");
  CHECK(in.strings_or("l", {"q"}).value() == std::vector<std::string>{"q"});
  CHECK(in.done());
}

TEST_CASE("Fields names path, value and range of what it refuses", "[fields]") {
  auto [value, message] = GENERATE(table<Json, std::string>({
      {64, "limits.cpus: 64 is outside 0.01..8"},
      {0.001, "limits.cpus: 0.001 is outside 0.01..8"},
      {"two", "limits.cpus: \"two\" is not a number"},
      {Json::array(), "limits.cpus: a list is not a number"},
      {Json::object(), "limits.cpus: an object is not a number"},
      {true, "limits.cpus: true is not a number"},
      {nullptr, "limits.cpus: missing"},
      {std::string(200, 'x'), "limits.cpus: \"" + std::string(60, 'x') + "\"... is not a number"},
  }));
  Json object = {{"cpus", value}};
  Fields in(object, "limits");
  auto read = in.number("cpus", 0.01, 8);
  REQUIRE_FALSE(read);
  CHECK(read.error().code == Code::invalid);
  CHECK(read.error().what == message);
}

TEST_CASE("Fields refuses integers that are none or do not fit", "[fields]") {
  auto [value, message] = GENERATE(table<Json, std::string>({
      {1.5, "n: 1.5 is not an integer"},
      {"1", "n: \"1\" is not an integer"},
      {-1, "n: -1 is outside 0..100"},
      {101, "n: 101 is outside 0..100"},
      {UINT64_MAX, "n: 18446744073709551615 is outside 0..100"},
      {1e300, "n: 1e+300 is outside 0..100"},
      {-5.0, "n: -5 is outside 0..100"},
  }));
  Json object = {{"n", value}};
  Fields in(object, "");
  auto read = in.integer("n", 0, 100);
  REQUIRE_FALSE(read);
  CHECK(read.error().what == message);
}

TEST_CASE("no integer wraps around, however wide the range", "[fields]") {
  Json object = {{"u", UINT64_MAX}, {"f", 1e300}, {"ok", INT64_MIN}};
  Fields in(object, "");
  CHECK_FALSE(in.integer("u", INT64_MIN, INT64_MAX));
  CHECK_FALSE(in.integer("f", INT64_MIN, INT64_MAX));
  CHECK(in.integer("ok", INT64_MIN, INT64_MAX).value() == INT64_MIN);
}

TEST_CASE("Fields refuses texts and lists of the wrong kind or size", "[fields]") {
  Json object = {{"s", "four"}, {"o", "c"}, {"l", {"a", 2}}, {"b", 1}, {"many", Json::array()}};
  for (int i = 0; i < 1025; i++) object["many"].push_back("x");
  Fields in(object, "p");
  CHECK(in.string("s", 3).error().what == "p.s: 4 bytes are more than 3");
  CHECK(in.string("b").error().what == "p.b: 1 is not a string");
  CHECK(in.one_of("o", {"a", "b"}).error().what == "p.o: \"c\" is not one of: a, b");
  CHECK(in.strings_or("l", {}).error().what == "p.l[1]: 2 is not a string");
  CHECK(in.strings_or("many", {}).error().what == "p.many: 1025 entries are more than 1024");
  CHECK(in.boolean_or("b", true).error().what == "p.b: 1 is not true or false");
}

TEST_CASE("Fields refuses keys that nobody asked for and lists the known ones", "[fields]") {
  Json object = {{"cpu", 1}};
  Fields in(object, "limits");
  (void)in.find("tasks");
  (void)in.find("cpus");
  auto done = in.done();
  REQUIRE_FALSE(done);
  CHECK(done.error().what == "limits.cpu: unknown key; known keys: cpus, tasks");
}

TEST_CASE("an unknown key is shown without its control bytes and not in full", "[fields]") {
  Json object = {{"\x1b[2J" + std::string(500, 'k'), 1}};
  Fields in(object, "");
  const std::string subject = in.done().error().what;
  CHECK(subject.substr(0, 7) == "\\x1b[2J");
  CHECK(subject.size() < 120);
}

TEST_CASE("Fields says so when there is no object to read", "[fields]") {
  Json list = Json::array();
  Fields in(list, "limits");
  CHECK(in.number("cpus", 0, 1).error().what == "limits: a list is not an object");
  CHECK(in.string_or("s", "x").error().what == "limits: a list is not an object");
  CHECK(in.done().error().what == "limits: a list is not an object");
}
