// The published schema and the reader know the same keys, and the schema's example is good.
#include <functional>
#include <set>

#include "policies/schema/json_schema.h"
#include "supervisor/base/json/json.h"
#include "tests/fresh_meter.h"
#include "tests/supervisor/daemon/configuration/scene.h"

namespace {

using Names = std::set<std::string>;

Json configuration_schema() {
  std::ifstream in(WARDER_SOURCE_DIR "/supervisor/daemon/configuration/warderd.schema.json");
  auto schema = parse_json(std::string(std::istreambuf_iterator<char>(in), {}));
  REQUIRE(schema);
  return *std::move(schema);
}

Names names_of(const Json& schema) {
  Names names;
  for (const auto& [key, value] : schema.at("properties").items()) {
    names.insert(key);
    const bool is_described = key == "server" || value.contains("description");
    CAPTURE(key);
    CHECK(is_described);
  }
  return names;
}

// The keys that the reader names when it meets an unknown one.
Names known_to_reader(const std::string& document) {
  ConfigurationScene scene;
  scene.write("warderd.json", document);
  constexpr std::string_view kMark = "nonsense: unknown key; known keys: ";
  for (const auto& problem : scene.load().notes.problems) {
    const size_t at = problem.find(kMark);
    if (at == problem.npos) continue;
    Names names;
    std::string rest = problem.substr(at + kMark.size());
    for (size_t comma; !rest.empty(); rest = comma == rest.npos ? "" : rest.substr(comma + 2)) {
      comma = rest.find(", ");
      names.insert(rest.substr(0, comma));
    }
    return names;
  }
  FAIL("the reader takes any key: " + document);
  return {};
}

}  // namespace

TEST_CASE("the schema of the configuration and its reader know the same keys", "[configuration]") {
  const Json schema = configuration_schema();
  const Json& keys = schema.at("properties");
  CHECK(names_of(schema) == known_to_reader(R"({"nonsense": 1})"));
  CHECK(names_of(keys.at("id_range")) ==
        known_to_reader(R"({"id_range": {"first": 100000, "count": 9, "nonsense": 1}})"));
  CHECK(names_of(keys.at("tokens").at("additionalProperties")) ==
        known_to_reader(R"({"tokens": {"ci": {"hash": "blake2b:)" + std::string(64, '0') + R"(", "nonsense": 1}}})"));
  CHECK(names_of(keys.at("jwt")) ==
        known_to_reader(R"({"jwt": {"issuer": "https://a", "audience": "https://b", "jwks": "c", "nonsense": 1}})"));
  CHECK(names_of(keys.at("journal")) == known_to_reader(R"({"journal": {"nonsense": 1}})"));
  CHECK(names_of(keys.at("traces")) == known_to_reader(R"({"traces": {"url": "http://a", "nonsense": 1}})"));
  CHECK(names_of(keys.at("import").at("items")) == known_to_reader(R"({"import": [{"file": "/a", "nonsense": 1}]})"));
  Names server = known_to_reader(R"({"servers": {"a": {"command": "/x", "nonsense": 1}}})");
  const Names remote = known_to_reader(R"({"servers": {"a": {"url": "http://a", "nonsense": 1}}})");
  server.insert(remote.begin(), remote.end());
  CHECK(names_of(schema.at("$defs").at("server")) == server);
}

TEST_CASE("ranges and choices of the schema are the reader's", "[configuration]") {
  const Json schema = configuration_schema();
  const Json &journal = schema.at("properties").at("journal").at("properties"),
             &server = schema.at("$defs").at("server").at("properties");
  const auto problems = [](const Json& document) {
    ConfigurationScene scene;
    scene.write("warderd.json", dump_json(document));
    return scene.load().notes.problems;
  };
  size_t ranges = 0;
  const auto check_range = [&](const Json& key, const std::function<Json(int64_t)>& with) {
    const auto min = key.at("minimum").get<int64_t>(), max = key.at("maximum").get<int64_t>();
    CHECK(problems(with(min)).empty());
    CHECK(problems(with(max)).empty());
    CHECK(problems(with(min - 1)).size() == 1);
    CHECK(problems(with(max + 1)).size() == 1);
    ranges++;
  };
  for (const auto& [name, key] : journal.items())
    if (key.contains("minimum"))
      check_range(key, [&, name = name](int64_t value) { return Json{{"journal", {{name, value}}}}; });
  for (const auto& [name, key] : server.items())
    if (key.contains("minimum"))
      check_range(key, [&, name = name](int64_t value) {
        return Json{{"servers", {{"a", {{"command", "/x"}, {name, value}}}}}};
      });
  const Json& ids = schema.at("properties").at("id_range").at("properties");
  check_range(ids.at("first"), [](int64_t value) { return Json{{"id_range", {{"first", value}, {"count", 9}}}}; });
  check_range(ids.at("count"), [](int64_t value) { return Json{{"id_range", {{"first", 65536}, {"count", value}}}}; });
  CHECK(ranges == 11);
  for (const auto& level : schema.at("properties").at("log_level").at("enum"))
    CHECK(problems({{"log_level", level}}).empty());
}

TEST_CASE("the example of the schema is good, by the schema and by the reader", "[configuration]") {
  const Json schema = configuration_schema();
  const auto compiled = policies::JsonSchema::compile(std::make_shared<const Json>(schema),
                                                      policies::JsonSchema::Unknown::refuse, FreshMeter());
  REQUIRE(compiled);
  for (const auto& example : schema.at("examples")) {
    CHECK((*compiled)->check(example, FreshMeter()));
    ConfigurationScene scene;
    scene.write("warderd.json", dump_json(example));
    CHECK(scene.load().notes.problems == std::vector<std::string>{});
  }
  CHECK_FALSE((*compiled)->check(Json::parse(R"({"sokcet": "/x"})"), FreshMeter()));
  CHECK_FALSE(
      (*compiled)->check(Json::parse(R"({"servers": {"a": {"command": "/x", "url": "http://a"}}})"), FreshMeter()));
}
