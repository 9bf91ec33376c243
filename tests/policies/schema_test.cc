// The published schema and the parser say the same: keys, types, ranges, what is required.
#include <algorithm>
#include <fstream>

#include "policies/policy.h"
#include "supervisor/base/json/json_value.h"
#include "tests/catch.h"

using namespace policies;
using Pointer = Json::json_pointer;

namespace {

Json load(const std::string& name) {
  std::ifstream file(WARDER_SOURCE_DIR "/policies/" + name);
  REQUIRE(file);
  return Json::parse(file);
}

std::vector<std::string> schema_problems(const Json& document) {
  auto policy = parse_policy("p", "p.json", document, HostCapacity{8});
  std::vector<std::string> all;
  if (!policy)
    for (const auto& problem : policy.error()) all.push_back(problem.what);
  return all;
}

std::string dotted(const Pointer& at) {
  std::string path = at.to_string().substr(1);
  std::replace(path.begin(), path.end(), '/', '.');
  return path;
}

// The complaint about exactly this key, if any.
std::string complaint(const Json& document, const Pointer& at) {
  for (const auto& problem : schema_problems(document))
    if (problem.starts_with(dotted(at) + ": ")) return problem;
  return "";
}

Json with(Json document, const Pointer& at, Json value) {
  document[at] = std::move(value);
  return document;
}

size_t leaves = 0;

void check_range(const Json& schema, const Json& document, const Pointer& at) {
  const Json min = schema.at("minimum"), max = schema.at("maximum");
  const std::string range = min.dump() + ".." + max.dump();
  for (const Json& outside : {Json(min.get<double>() - 0.001), Json(max.get<double>() + 1)}) {
    // A fraction below an integer's minimum is no integer; take the next one.
    const Json value = schema.at("type") == "integer" && outside < min ? Json(min.get<int64_t>() - 1) : outside;
    CHECK(complaint(with(document, at, value), at).find("is outside " + range) != std::string::npos);
  }
  for (const Json& inside : {min, max})
    CHECK(complaint(with(document, at, inside), at).find("is outside") == std::string::npos);
}

void check_leaf(const Json& schema, const Json& document, const Pointer& at) {
  leaves++;
  CAPTURE(at.to_string());
  CHECK(schema.at("description").get<std::string>().size() > 10);
  CHECK(complaint(with(document, at, Json::array({Json::object()})), at) != "");  // no key takes that
  if (schema.contains("minimum")) check_range(schema, document, at);
  if (schema.contains("oneOf")) {  // a number or "host"
    Json number = schema["oneOf"][0];
    check_range(number, document, at);
    CHECK(complaint(with(document, at, schema["oneOf"][1].at("const")), at).find("number") == std::string::npos);
    CHECK(complaint(with(document, at, "else"), at) != "");
  }
  if (schema.contains("enum")) {
    for (const auto& value : schema["enum"]) CHECK(complaint(with(document, at, value), at) == "");
    CHECK(complaint(with(document, at, "else"), at) != "");
  }
  if (schema.value("type", "") == "string" && schema.contains("maxLength")) {
    const auto length = schema["maxLength"].get<size_t>();
    CHECK(complaint(with(document, at, std::string(length, 'x')), at) == "");
    CHECK(complaint(with(document, at, std::string(length + 1, 'x')), at) != "");
  }
  if (schema.value("type", "") == "integer") CHECK(complaint(with(document, at, 100.5), at) != "");
}

void check_object(const Json& schema, const Json& complete, const Json& document, const Pointer& at) {
  CHECK(schema.at("additionalProperties") == false);
  std::vector<std::string> existing;
  for (const auto& [key, child] : schema.at("properties").items()) existing.push_back(key);
  std::sort(existing.begin(), existing.end());
  std::string listed;
  for (const auto& key : existing) listed += (listed.empty() ? "" : ", ") + key;
  const auto report = complaint(with(document, at / "nonsense", 1), at / "nonsense");
  CHECK(report.ends_with("known keys: " + listed));

  const Json required = complete.value("required", Json::array());
  for (const auto& [key, child] : schema.at("properties").items()) {
    Json without = document;
    without[at].erase(key);
    const bool is_required = std::find(required.begin(), required.end(), key) != required.end();
    CAPTURE((at / key).to_string());
    CHECK((complaint(without, at / key) == dotted(at / key) + ": missing") == is_required);
    if (child.contains("properties")) {
      check_object(child, complete.value("properties", Json::object()).value(key, Json::object()), document, at / key);
    } else if (!child.contains("propertyNames") && child.value("type", "") != "array") {
      check_leaf(child, document, at / key);
    }
  }
}

}  // namespace

TEST_CASE("the schema and the parser agree on keys, types, ranges and what is required", "[policies]") {
  const Json schema = load("policy.schema.json");
  leaves = 0;
  Json document = load("default.json");
  document["egress"] = {
      {"rules", Json::array()}, {"connections", 1}, {"bytes_up", 0}, {"bytes_down", 0}, {"seconds", 1}};
  document["cluster"] = {{"home", "local"}};
  check_object(schema, schema["$defs"]["complete"], document, Pointer(""));
  CHECK(leaves >= 35);  // it did look
}

TEST_CASE("the schema and the parser agree on lists and variables", "[policies]") {
  const Json properties = load("policy.schema.json")["properties"];
  const Json document = load("default.json");
  for (const auto& language : properties["languages"]["items"]["enum"])
    CHECK(schema_problems(with(document, Pointer("/languages"), Json::array({language}))).empty());
  CHECK(properties["environment"]["maxProperties"] == 32);
  CHECK(properties["workspaces"]["maxItems"] == 1024);
  const auto described = properties["environment"]["description"].get<std::string>();
  for (std::string name : {"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "PWD", "ENV", "IFS", "LD_*", "PYTHON*",
                           "NODE_*", "BASH_*", "GLIBC_*", "MALLOC_*", "WARDER_*"}) {
    CAPTURE(name);
    CHECK(described.find(name) != described.npos);
    if (name.back() == '*') name.back() = 'X';
    CHECK_FALSE(schema_problems(with(document, Pointer("/environment"), {{name, "x"}})).empty());
  }
}

TEST_CASE("certificates for Node may be added, and no other variable of Node", "[policies]") {
  const Json document = load("default.json");
  const auto problems = [&](const char* name, const char* value) {
    return schema_problems(with(document, Pointer("/environment"), {{name, value}}));
  };
  CHECK(problems("NODE_EXTRA_CA_CERTS", "/usr/local/share/ca-certificates/company.crt").empty());
  CHECK_FALSE(problems("NODE_EXTRA_CA_CERTSX", "/usr/x").empty());
  CHECK_FALSE(problems("NODE_EXTRA", "/usr/x").empty());
}

TEST_CASE("every shipped schema describes every key", "[policies]") {
  std::function<void(const Json&, const std::string&)> inspect = [&](const Json& schema, const std::string& where) {
    if (!schema.is_object()) return;
    if (schema.contains("properties") && !where.ends_with("complete") && where.find("/complete/") == where.npos)
      for (const auto& [key, child] : schema["properties"].items()) {
        CAPTURE(where, key);
        CHECK((child.contains("description") || child.contains("$ref")));
      }
    for (const auto& [key, child] : schema.items()) {
      if (child.is_object()) inspect(child, where + "/" + key);
      if (child.is_array())
        for (const auto& item : child) inspect(item, where + "/" + key);
    }
  };
  for (auto name : {"policy.schema.json", "tenants.schema.json", "seccomp.schema.json"}) inspect(load(name), name);
}
