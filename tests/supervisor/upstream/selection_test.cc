// Selection: what paths take from a result, and what they may cost.
#include "supervisor/upstream/selection.h"

#include "supervisor/base/json/json.h"

#include "tests/catch.h"
#include "tests/fresh_meter.h"

using upstream::Selection;

namespace {

Json selected(const Json& value, const std::vector<std::string>& paths) {
  auto selection = Selection::of(paths);
  REQUIRE(selection);
  return selection->apply(value, FreshMeter()).value();
}

}  // namespace

TEST_CASE("paths take members, also of each element of a list, and keep the shape", "[select]") {
  const Json value = Json::parse(R"({"items": [{"a": 1, "b": {"c": 2, "d": 3}}, {"b": 4}], "next": "x", "more": 5})");
  CHECK(selected(value, {}) == value);
  CHECK(dump_json(selected(value, {"items.a", "next"})) == R"({"items":[{"a":1},{}],"next":"x"})");
  CHECK(dump_json(selected(value, {"next", "items.b.c"})) == R"({"next":"x","items":[{"b":{"c":2}},{"b":null}]})");
  CHECK(dump_json(selected(value, {"items.b.c", "items.b"})) == R"({"items":[{"b":{"c":2,"d":3}},{"b":4}]})");
  CHECK(dump_json(selected(value, {"items.b", "items.b.c"})) == R"({"items":[{"b":{"c":2,"d":3}},{"b":4}]})");
  CHECK(dump_json(selected(value, {"absent"})) == "{}");
  CHECK(selected(7, {"a"}).is_null());
  CHECK(dump_json(selected(Json::parse(R"([[{"a": 1}], [2]])"), {"a"})) == "[[{\"a\":1}],[null]]");
}

TEST_CASE("equal paths count once; too many different ones and too long ones are refused", "[select]") {
  CHECK(dump_json(selected({{"a", 1}}, std::vector<std::string>(1000, "a"))) == R"({"a":1})");
  std::vector<std::string> many;
  for (int i = 0; i < 65; i++) many.push_back("p" + std::to_string(i));
  const auto refused = Selection::of(many);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::invalid);
  CHECK_THAT(refused.error().what, Catch::Contains("select: 65 paths; at most 64"));
  std::string deep = "a";
  for (int i = 1; i < 33; i++) deep += ".a";
  CHECK_FALSE(Selection::of({deep}));
}

TEST_CASE("a selection that takes too long is given up", "[select]") {
  Json value = Json::array();
  for (int i = 0; i < 50'000; i++) value.push_back(Json{{"a", 1}});
  std::vector<std::string> paths;
  for (int i = 0; i < 64; i++) paths.push_back("absent" + std::to_string(i));
  const auto selection = Selection::of(paths);  // 3.2 million lookups
  REQUIRE(selection);
  auto abandoned = selection->apply(std::move(value), FreshMeter(std::chrono::milliseconds(5)));
  REQUIRE_FALSE(abandoned);
  CHECK(abandoned.error().code == Code::exhausted);
}
