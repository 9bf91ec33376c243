#include "supervisor/upstream/observed.h"

#include "supervisor/base/json/json.h"
#include "supervisor/base/path.h"
#include "supervisor/upstream/definitions.h"
#include "tests/catch.h"
#include "tests/fresh_meter.h"
#include "tests/temp_directory.h"

using upstream::Definitions;
using upstream::Observed;
using upstream::Shape;

namespace {

Json schema_of(const std::vector<Json>& values) {
  Shape shape;
  for (const Json& value : values) shape.see(value);
  return shape.schema();
}

Json deep(int levels) {
  Json value = 1;
  for (int i = 0; i < levels; i++) value = Json{{"in", value}};
  return value;
}

}  // namespace

TEST_CASE("a shape is the union of what was seen", "[upstream]") {
  CHECK(schema_of({1, 2}) == Json{{"type", "integer"}});
  CHECK(schema_of({1, parse_json("12345678901234567890123").value()}) == Json{{"type", "integer"}});
  CHECK(schema_of({1, parse_json("3.14159265358979323846").value()}) == Json{{"type", "number"}});
  CHECK(schema_of({1, 2.5}) == Json{{"type", "number"}});
  CHECK(schema_of({"a", nullptr}) == Json::parse(R"({"anyOf": [{"type": "string"}, {"type": "null"}]})"));
  CHECK(schema_of({Json::array()}) == Json{{"type", "array"}});
  CHECK(schema_of({Json::array({1, "a"})}) ==
        Json::parse(R"({"type": "array", "items": {"anyOf": [{"type": "integer"}, {"type": "string"}]}})"));
  CHECK(schema_of({}) == Json::object());
}

TEST_CASE("a member is required when every object had it, and left out when few had", "[upstream]") {
  const Json result = schema_of({{{"id", 1}, {"open", true}}, {{"id", 2}, {"open", false}}, {{"id", 3}, {"odd", 1}}});
  CHECK(result["properties"] == Json::parse(R"({"id": {"type": "integer"}, "open": {"type": "boolean"}})"));
  CHECK(result["required"] == Json::array({"id"}));
}

TEST_CASE("names that may be somebody's data are not told", "[upstream]") {
  const Json any{{"type", "object"}};
  CHECK(schema_of({{{"ada@example.com", 1}}}) == any);
  CHECK(schema_of({{{"two words", 1}}}) == any);
  CHECK(schema_of({{{"7", 1}}}) == any);
  CHECK(schema_of({{{std::string(41, 'a'), 1}}}) == any);
  // Seen once each: keys rather than fields.
  CHECK(schema_of({{{"ada", 1}}, {{"bob", 2}}, {{"eve", 3}}}) == any);
  // One bad name, later on, hides all of that object's.
  CHECK(schema_of({{{"id", 1}}, {{"id", 2}, {"not a name", 3}}, {{"id", 1}}}) == any);
  Json many = Json::object();
  for (int i = 0; i < 25; i++) many["m" + std::to_string(i)] = i;
  CHECK(schema_of({many}) == any);
}

TEST_CASE("a shape is bounded in depth", "[upstream]") {
  Json result = schema_of({deep(60)});
  int levels = 0;
  while (result.contains("properties")) {
    result = result["properties"]["in"];
    levels++;
  }
  CHECK(levels == Shape::kMaxDepth);
  CHECK(result == Json{{"type", "object"}});
}

TEST_CASE("a shape survives its file, and a file that lies is no harm", "[upstream]") {
  Shape shape;
  shape.see(Json::parse(R"([{"id": 1, "tags": ["a"], "of": {"x y": 1}}, {"id": 2}])"));
  CHECK(Shape::from_json(shape.to_json()).schema() == shape.schema());
  for (const char* lie :
       {"7", "null", R"({"kinds": -1})", R"({"kinds": 64, "objects": 1, "members": {"a b": {"seen": 1}}})",
        R"({"kinds": 64, "members": 7})", R"({"kinds": 32, "items": []})"})
    CHECK_NOTHROW(Shape::from_json(Json::parse(lie)).schema());
  CHECK(Shape::from_json(Json::parse(R"({"kinds": 64, "objects": 1, "members": {"a b": {"seen": 1}}})")).schema() ==
        Json{{"type", "object"}});
}

TEST_CASE("a type is told after two results, and changes seldom", "[upstream]") {
  Observed seen;
  CHECK_FALSE(seen.see(1));
  CHECK(seen.schema.is_null());
  CHECK(seen.see(2));
  CHECK(seen.schema == Json{{"type", "integer"}});
  CHECK_FALSE(seen.see(3));
  int changes = 1;
  for (const Json& value : {Json("a"), Json(nullptr), Json(true), Json(1.5), Json::array(), Json::object()})
    changes += seen.see(value) ? 1 : 0;
  CHECK(changes == static_cast<int>(Observed::kMaxReported));
}

TEST_CASE("what was observed is told of tools that declare nothing, as long as they are the same", "[upstream]") {
  const Json tools = Json::parse(R"([{"name": "free"}, {"name": "declared", "outputSchema": {"type": "object"}}])");
  Definitions all = Definitions::read(tools, FreshMeter()).value();
  for (int i = 0; i < 2; i++) {
    CHECK(all.observed->see("free", Json{{"id", 1}}) == (i == 1));
  }
  const auto output_of = [](const Definitions& definitions, const char* name) {
    for (const Json& tool : definitions.described())
      if (tool["name"] == name) return tool.value("outputSchema", Json());
    return Json();
  };
  CHECK(output_of(all, "free")["properties"]["id"]["type"] == "integer");
  CHECK(output_of(all, "free")["description"] == "Observed in results; the server declares no schema.");
  CHECK(output_of(all, "declared") == Json{{"type", "object"}});
  CHECK_FALSE(all.tools.at("free")->definition().contains("outputSchema"));  // the server's own word stays

  Definitions same = Definitions::read(tools, FreshMeter()).value();
  same.inherit(all);
  CHECK(output_of(same, "free") == output_of(all, "free"));
  Definitions other =
      Definitions::read(Json::parse(R"([{"name": "free", "description": "another"}])"), FreshMeter()).value();
  other.inherit(all);
  CHECK(output_of(other, "free").is_null());
}

TEST_CASE("what was observed is kept over restarts", "[upstream]") {
  TempDirectory temporary;
  const Fd folder = *open_directory(temporary.path().string());
  upstream::ServerConfig config;
  config.name = "near";
  config.command = {"/usr/bin/near"};
  Definitions all = Definitions::read(Json::parse(R"([{"name": "free"}])"), FreshMeter()).value();
  for (int i = 0; i < 2; i++) (void)all.observed->see("free", Json{{"id", 1}});
  REQUIRE(upstream::save_definitions(folder.get(), config, all));
  auto definitions = upstream::load_definitions(upstream::read_stored(folder.get(), config).value(), FreshMeter());
  REQUIRE(definitions);
  CHECK(definitions->described() == all.described());
}
