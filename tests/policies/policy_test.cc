#include "policies/policy.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "supervisor/base/json.h"
#include "tests/catch.h"

using namespace policies;
using nlohmann::json;
using namespace std::chrono_literals;

namespace {
json standard() {
  std::ifstream file(WARDER_SOURCE_DIR "/policies/default.json");
  return json::parse(file);
}
std::string problems_of(const json& document) {
  auto policy = parse_policy("p", "p.json", document, Host{8});
  if (policy) return "";
  std::string all;
  for (const auto& problem : policy.error()) all += (all.empty() ? "" : "\n") + problem.what;
  return all;
}
}  // namespace

TEST_CASE("the standard policy says what README promises", "[policies]") {
  auto policy = parse_policy("default", "default.json", standard(), Host{8});
  REQUIRE(policy);
  CHECK(policy->limits.standard.wall == 30s);
  CHECK(policy->limits.maximum.wall == 300s);
  CHECK(policy->limits.standard.memory_bytes == 500 << 20);
  CHECK(policy->limits.maximum.memory_bytes == 2ull << 30);
  CHECK(policy->limits.standard.tasks == 64);
  CHECK(policy->limits.standard.cpus == 1);
  CHECK(policy->limits.maximum.cpus == 8);  // "host"
  CHECK(policy->limits.maximum.file_bytes == policy->limits.standard.file_bytes);
  CHECK(policy->limits.maximum.open_files == 1024);
  CHECK(policy->isolation.cgroups == Need::preferred);
  CHECK(policy->concurrent_executions == 8);
  CHECK(policy->queued_executions == 64);
  CHECK(policy->quota.workspace_files == 50'000);
  CHECK(policy->languages == std::vector<std::string>{"python", "javascript", "shell"});
  CHECK(policy->seccomp == "default");
  CHECK(policy->pii.answers == PiiRules::Answers::as_is);
  CHECK(policy->pii.restore == PiiRules::Restore::nobody);
  CHECK(policy->tools.offers("anything"));
  CHECK(policy->allows_language("shell"));
  CHECK_FALSE(policy->allows_language("ruby"));
}

TEST_CASE("a policy offers all tools, few, or those it names", "[policies]") {
  auto offered = [](const json& tools, std::string_view name) {
    json document = standard();
    document["tools"] = tools;
    auto policy = parse_policy("p", "p.json", document, Host{8});
    REQUIRE(policy);
    return policy->tools.offers(name);
  };
  CHECK(offered("all", "sanitize_pii"));
  CHECK(offered("lean", "execute_code"));
  CHECK_FALSE(offered("lean", "sanitize_pii"));
  CHECK(offered(json{"sanitize_pii"}, "sanitize_pii"));
  CHECK_FALSE(offered(json{"sanitize_pii"}, "execute_code"));
  json document = standard();
  for (const json& wrong : {json("some"), json(1), json::array(), json{"a b"}, json{1}, json{""}}) {
    document["tools"] = wrong;
    CHECK_THAT(problems_of(document), Catch::StartsWith("tools: "));
  }
}

TEST_CASE("a policy that is not understood in full is refused, with key, value and range", "[policies]") {
  auto [pointer, value, message] = GENERATE(table<std::string, json, std::string>({
      {"/limits/standard/cpus", 4096, "limits.standard.cpus: 4096 is outside 0.01..1024"},
      {"/limits/standard/cpus", "all", "limits.standard.cpus: neither a number nor \"host\""},
      {"/limits/standard/cpus", 9, "limits.standard.cpus: 9 is above limits.maximum.cpus, which is 8"},
      {"/limits/standard/wall_ms", 0, "limits.standard.wall_ms: 0 is outside 1..86400000"},
      {"/limits/standard/wall_ms", 1.5, "limits.standard.wall_ms: 1.5 is not an integer"},
      {"/limits/standard/wall_ms", 300001,
       "limits.standard.wall_ms: 300001 is above limits.maximum.wall_ms, which is 300000"},
      {"/limits/maximum/wall_ms", "5 min", "limits.maximum.wall_ms: \"5 min\" is not an integer"},
      {"/limits/maximum/cpu_ms", 5, "limits.standard.cpu_ms: 0 means none, but limits.maximum.cpu_ms is 5"},
      {"/limits/maximum/open_files", 5,
       "limits.maximum.open_files: unknown key; known keys: cpu_ms, cpus, memory_bytes, output_bytes, tasks, wall_ms"},
      {"/limits/standard/memory_bytes", -1, "limits.standard.memory_bytes: -1 is outside 16777216..17592186044416"},
      {"/limits/standard/memory_bytes", 1e30,
       "limits.standard.memory_bytes: 1e+30 is outside 16777216..17592186044416"},
      {"/limits/standard/output_kept_bytes", 4096,
       "limits.maximum.output_bytes: 1048576 is above limits.standard.output_kept_bytes, which is 4096"},
      {"/limits/standard", json::array(), "limits.standard: a list is not an object"},
      {"/limits", 7, "limits: 7 is not an object"},
      {"/isolation/cgroups", "maybe", "isolation.cgroups: \"maybe\" is none of: required, preferred"},
      {"/isolation/cgroup", "required",
       "isolation.cgroup: unknown key; known keys: cgroups, identity, idmap, landlock, overlay"},
      {"/quota/workspace_bytes", 1, "quota.workspace_bytes: 1 is outside 1048576..1125899906842624"},
      {"/admission/concurrent_executions", 0, "admission.concurrent_executions: 0 is outside 1..10000"},
      {"/languages", json::array({"python", "ruby"}), "languages: \"ruby\" is none of: python, javascript, shell"},
      {"/languages", json::array({"python", "python"}),
       "languages: \"python\" stands there twice\nlanguages: \"python\" stands there twice"},
      {"/languages", json::array(), "languages: names no language"},
      {"/workspaces", json::array({"../etc"}),
       "workspaces: \"../etc\" is not made of 1 to 64 of a-z, 0-9, _, ., - and *, or starts with a dot"},
      {"/environment", json({{"LD_PRELOAD", "x"}}),
       "environment.LD_PRELOAD: is set by Warder or changes what a program loads"},
      {"/environment", json({{"HOME", "/"}}), "environment.HOME: is set by Warder or changes what a program loads"},
      {"/environment", json({{"a=b", "x"}}),
       "environment.a=b: a name is 1 to 64 of A-Z, 0-9 and _, not starting with a digit"},
      {"/environment", json({{"TZ", 1}}), "environment.TZ: not a string of at most 1024 bytes"},
      {"/environment", json({{"TZ", "a\nb"}}), "environment.TZ: holds a NUL or a line end"},
      {"/environment", json::array(), "environment: not an object"},
      {"/seccomp", 5, "seccomp: 5 is not a string"},
      {"/description", true, "description: true is not a string"},
      {"/langauges", json::array(),
       "langauges: unknown key; known keys: $schema, admission, calls, description, discovery, environment, extends, "
       "isolation, languages, limits, named_workspaces, pii, pool, quota, seccomp, sessions, skills, tools, "
       "workspaces"},
  }));
  CAPTURE(pointer);
  json document = standard();
  document[json::json_pointer(pointer)] = value;
  CHECK(problems_of(document) == message);
}

TEST_CASE("no standard is above its maximum, whichever it is", "[policies]") {
  const json maximum = standard()["limits"]["maximum"];
  for (const auto& [key, value] : maximum.items()) {
    CAPTURE(key);
    json document = standard();
    // Both in the range of every one of these.
    document["limits"]["standard"][key] = key == "memory_bytes" ? 20 << 20 : key == "cpus" ? 7 : 5000;
    document["limits"]["maximum"][key] = key == "memory_bytes" ? 19 << 20 : key == "cpus" ? 6 : 4000;
    const std::string what = problems_of(document);
    CHECK(what.find("limits.standard." + key + ": ") == 0);
    CHECK(what.find(" is above limits.maximum." + key + ", which is ") != what.npos);
  }
}

TEST_CASE("one look finds every problem", "[policies]") {
  json document = standard();
  document["limits"]["standard"]["tasks"] = 0;
  document["limits"]["maximum"]["wall_ms"] = "long";
  document["isolation"].erase("idmap");
  document["quota"].erase("executions_kept");
  document.erase("seccomp");
  CHECK(problems_of(document) ==
        "limits.standard.tasks: 0 is outside 4..65536\n"
        "limits.maximum.wall_ms: \"long\" is not an integer\n"
        "isolation.idmap: missing\n"
        "quota.executions_kept: missing\n"
        "seccomp: missing");
}

TEST_CASE("what is no policy at all is refused once", "[policies]") {
  CHECK(problems_of(json::array()) == "a list is not an object");
  CHECK(problems_of(json("text")) == "\"text\" is not an object");
}

TEST_CASE("environments are bounded", "[policies]") {
  json document = standard();
  for (int i = 0; i < 33; i++) document["environment"]["V" + std::to_string(i)] = "x";
  CHECK(problems_of(document) == "environment: 33 names are more than 32");
  document["environment"] = json::object();
  for (int i = 0; i < 9; i++) document["environment"]["V" + std::to_string(i)] = std::string(1000, 'x');
  CHECK(problems_of(document) == "environment: 9036 bytes are more than 8192");
}

TEST_CASE("merging goes key by key into objects and replaces the rest", "[policies]") {
  json base = {{"a", {{"x", 1}, {"y", {1, 2}}}}, {"b", "base"}, {"c", {{"z", 1}}}};
  json child = {{"a", {{"y", {3}}}}, {"c", 5}, {"d", true}};
  CHECK(merged(base, child) == json({{"a", {{"x", 1}, {"y", {3}}}}, {"b", "base"}, {"c", 5}, {"d", true}}));
}

TEST_CASE("workspace patterns", "[policies]") {
  Policy policy;
  policy.workspaces = {"default", "team-*", "*.tmp", "a*b*c"};
  for (auto good : {"default", "team-", "team-x.y", "x.tmp", "abc", "axxbyyc"}) CHECK(policy.allows_workspace(good));
  for (auto bad : {"", "defaul", "default2", "tea", "tmp", "ab", "acb", "../x.tmp", ".tmp", "TEAM-x", "team-/x"})
    CHECK_FALSE(policy.allows_workspace(bad));
  // Many stars take no time: it would be years by trying everything.
  policy.workspaces = {std::string(31, 'a') + "*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b"};
  CHECK_FALSE(policy.allows_workspace(std::string(64, 'a')));
}

TEST_CASE("names", "[policies]") {
  for (auto good : {"a", "default", "uid-1000", "a.b_c", "-x", "0"}) CHECK(valid_name(good));
  for (auto bad : {"", ".", "..", ".a", "A", "a/b", "a b", "\xc3\xa9"}) CHECK_FALSE(valid_name(bad));
  CHECK(valid_name(std::string(64, 'a')));
  CHECK_FALSE(valid_name(std::string(65, 'a')));
  CHECK_FALSE(valid_name(std::string_view("a\0b", 3)));
}
