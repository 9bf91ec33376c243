#include "policies/policy.h"

#include <fstream>

#include "policies/merged.h"
#include "policies/names.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "tests/catch.h"

using namespace policies;
using namespace std::chrono_literals;

namespace {
Json standard() {
  std::ifstream file(WARDER_SOURCE_DIR "/policies/default.json");
  return Json::parse(file);
}
std::string problems_of(const Json& document) {
  auto policy = parse_policy("p", "p.json", document, HostCapacity{8});
  if (policy) return "";
  std::string all;
  for (const auto& problem : policy.error()) all += (all.empty() ? "" : "\n") + problem.what;
  return all;
}
}  // namespace

TEST_CASE("the standard policy says what README promises", "[policies]") {
  auto policy = parse_policy("default", "default.json", standard(), HostCapacity{8});
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
  CHECK(policy->queued_executions == 2000);
  CHECK(policy->fork == 100);
  CHECK(policy->quota.workspace_files == 50'000);
  CHECK(policy->languages == std::vector<std::string>{"python", "javascript", "typescript", "shell"});
  CHECK(policy->seccomp == "default");
  CHECK(policy->pii.answers == PiiRules::Answers::as_is);
  CHECK(policy->pii.restore == PiiRules::Restore::no_user);
  CHECK(policy->tools.offers("anything"));
  CHECK(policy->allows_language("shell"));
  CHECK_FALSE(policy->allows_language("ruby"));
}

TEST_CASE("a policy that is older than fan-out allows a hundred branches", "[policies]") {
  Json document = standard();
  document["admission"].erase("fork");
  auto policy = parse_policy("p", "p.json", document, HostCapacity{8});
  REQUIRE(policy);
  CHECK(policy->fork == 100);
}

TEST_CASE("a shell program's status 1 is an answer unless the policy calls it an error", "[policies]") {
  auto read = [](const Json& document) {
    auto policy = parse_policy("p", "p.json", document, HostCapacity{8});
    REQUIRE(policy);
    return policy->shell_exit_1;
  };
  Json document = standard();
  CHECK(read(document) == ShellExit1::answer);
  document["shell_exit_1"] = "error";
  CHECK(read(document) == ShellExit1::error);
  document.erase("shell_exit_1");  // as policies of before have it
  CHECK(read(document) == ShellExit1::answer);
}

TEST_CASE("a receipt is a resource unless the policy wants it in each answer", "[policies]") {
  Json document = standard();
  CHECK(parse_policy("p", "p.json", document, HostCapacity{8}).value().receipt == ReceiptDelivery::resource);
  document["receipt"] = "answer";
  CHECK(parse_policy("p", "p.json", document, HostCapacity{8}).value().receipt == ReceiptDelivery::answer);
}

TEST_CASE("policies are offered alike when agents see the same limits and languages", "[policies]") {
  const auto policy = parse_policy("p", "p.json", standard(), HostCapacity{8}).value();
  auto other = policy;
  other.description = "another";
  CHECK(are_offered_alike(policy, other));
  SECTION("time") { other.limits.maximum.wall += std::chrono::seconds(1); }
  SECTION("memory") { other.limits.standard.memory_bytes /= 2; }
  SECTION("languages") { other.languages = {"python"}; }
  SECTION("tools") { other.tools.every = false; }
  CHECK_FALSE(are_offered_alike(policy, other));
}

TEST_CASE("a policy offers all tools, few, or those it names", "[policies]") {
  auto offered = [](const Json& tools, std::string_view name) {
    Json document = standard();
    document["tools"] = tools;
    auto policy = parse_policy("p", "p.json", document, HostCapacity{8});
    REQUIRE(policy);
    return policy->tools.offers(name);
  };
  CHECK(offered("all", "sanitize_pii"));
  CHECK(offered("lean", "execute_code"));
  CHECK_FALSE(offered("lean", "sanitize_pii"));
  CHECK(offered(Json{"sanitize_pii"}, "sanitize_pii"));
  CHECK_FALSE(offered(Json{"sanitize_pii"}, "execute_code"));
  Json document = standard();
  for (const Json& wrong : {Json("some"), Json(1), Json::array(), Json{"a b"}, Json{1}, Json{""}}) {
    document["tools"] = wrong;
    CHECK_THAT(problems_of(document), Catch::StartsWith("tools: "));
  }
}

TEST_CASE("a policy that is not understood in full is refused, with key, value and range", "[policies]") {
  auto [pointer, value, message] = GENERATE(table<std::string, Json, std::string>({
      {"/receipt", true, "receipt: true is not a string"},
      {"/receipt", "no", "receipt: \"no\" is not one of: resource, answer"},
      {"/shell_exit_1", "ok", "shell_exit_1: \"ok\" is not one of: answer, error"},
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
      {"/limits/standard/output_total_bytes", 4096,
       "limits.standard.output_kept_bytes: 67108864 is above limits.standard.output_total_bytes, which is 4096"},
      {"/limits/standard", Json::array(), "limits.standard: a list is not an object"},
      {"/limits", 7, "limits: 7 is not an object"},
      {"/isolation/cgroups", "maybe", "isolation.cgroups: \"maybe\" is not one of: required, preferred"},
      {"/isolation/cgroup", "required",
       "isolation.cgroup: unknown key; known keys: cgroups, identity, idmap, landlock, overlay"},
      {"/quota/workspace_bytes", 1, "quota.workspace_bytes: 1 is outside 1048576..1125899906842624"},
      {"/admission/concurrent_executions", 0, "admission.concurrent_executions: 0 is outside 1..10000"},
      {"/admission/fork", 1001, "admission.fork: 1001 is outside 0..1000"},
      {"/languages", Json::array({"python", "ruby"}),
       "languages: \"ruby\" is not one of: python, javascript, typescript, shell"},
      {"/languages", Json::array({"python", "python"}),
       "languages: \"python\" is listed twice\nlanguages: \"python\" is listed twice"},
      {"/languages", Json::array(), "languages: must name a language"},
      {"/workspaces", Json::array({"../etc"}),
       "workspaces: \"../etc\" is not made of 1 to 64 of A-Z, a-z, 0-9, _, ., - and *, or starts with a dot"},
      {"/environment", Json({{"LD_PRELOAD", "x"}}),
       "environment.LD_PRELOAD: is set by Warder or changes which files a program loads"},
      {"/environment", Json({{"HOME", "/"}}),
       "environment.HOME: is set by Warder or changes which files a program loads"},
      {"/environment", Json({{"NODE_OPTIONS", "--require /workspace/x.js"}}),
       "environment.NODE_OPTIONS: is set by Warder or changes which files a program loads"},
      {"/environment", Json({{"NODE_EXTRA_CA_CERTS", "/workspace/ca.pem"}}),
       "environment.NODE_EXTRA_CA_CERTS: not the path of a file below /usr, nor /etc/ssl/certs/ca-certificates.crt"},
      {"/environment", Json({{"NODE_EXTRA_CA_CERTS", "/usr/../workspace/ca.pem"}}),
       "environment.NODE_EXTRA_CA_CERTS: not the path of a file below /usr, nor /etc/ssl/certs/ca-certificates.crt"},
      {"/environment", Json({{"a=b", "x"}}),
       "environment.a=b: a name is 1 to 64 of A-Z, 0-9 and _, not starting with a digit"},
      {"/environment", Json({{"TZ", 1}}), "environment.TZ: not a string of at most 1024 bytes"},
      {"/environment", Json({{"TZ", "a\nb"}}), "environment.TZ: contains a NUL or a line end"},
      {"/environment", Json::array(), "environment: not an object"},
      {"/layers", Json({"../data"}),
       "layers: \"../data\" is not the name of a layer: 1 to 64 of a-z, 0-9, '-', '_' and '.'"},
      {"/layers", Json({"data", "data"}), "layers: \"data\" is listed twice"},
      {"/layers", Json({"a", "b", "c", "d", "e", "f", "g", "h", "i"}), "layers: more than 8 layers"},
      {"/layers", "data", "layers: \"data\" is not a list of strings"},
      {"/seccomp", 5, "seccomp: 5 is not a string"},
      {"/description", true, "description: true is not a string"},
      {"/langauges", Json::array(),
       "langauges: unknown key; known keys: $schema, admission, calls, cluster, description, discovery, egress, "
       "environment, extends, guardrails, isolation, languages, layers, limits, named_workspaces, pii, pool, quota, "
       "receipt, "
       "seccomp, "
       "sessions, "
       "shell_exit_1, "
       "skills, tools, workflows, workspace, workspaces"},
  }));
  CAPTURE(pointer);
  Json document = standard();
  document[Json::json_pointer(pointer)] = value;
  CHECK(problems_of(document) == message);
}

TEST_CASE("no standard is above its maximum, whichever it is", "[policies]") {
  const Json maximum = standard()["limits"]["maximum"];
  for (const auto& [key, value] : maximum.items()) {
    CAPTURE(key);
    Json document = standard();
    // Both in the range of every one of these.
    document["limits"]["standard"][key] = key == "memory_bytes" ? 20 << 20 : key == "cpus" ? 7 : 5000;
    document["limits"]["maximum"][key] = key == "memory_bytes" ? 19 << 20 : key == "cpus" ? 6 : 4000;
    const std::string subject = problems_of(document);
    CHECK(subject.find("limits.standard." + key + ": ") == 0);
    CHECK(subject.find(" is above limits.maximum." + key + ", which is ") != subject.npos);
  }
}

TEST_CASE("one look finds every problem", "[policies]") {
  Json document = standard();
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
  CHECK(problems_of(Json::array()) == "a list is not an object");
  CHECK(problems_of(Json("text")) == "\"text\" is not an object");
}

TEST_CASE("environments are bounded", "[policies]") {
  Json document = standard();
  for (int i = 0; i < 33; i++) document["environment"]["V" + std::to_string(i)] = "x";
  CHECK(problems_of(document) == "environment: 33 names are more than 32");
  document["environment"] = Json::object();
  for (int i = 0; i < 9; i++) document["environment"]["V" + std::to_string(i)] = std::string(1000, 'x');
  CHECK(problems_of(document) == "environment: 9036 bytes are more than 8192");
}

TEST_CASE("merging goes key by key into objects and replaces the rest", "[policies]") {
  Json base = {{"a", {{"x", 1}, {"y", {1, 2}}}}, {"b", "base"}, {"c", {{"z", 1}}}};
  Json child = {{"a", {{"y", {3}}}}, {"c", 5}, {"d", true}};
  CHECK(merged(base, child) == Json({{"a", {{"x", 1}, {"y", {3}}}}, {"b", "base"}, {"c", 5}, {"d", true}}));
}

TEST_CASE("workspace patterns", "[policies]") {
  Policy policy;
  policy.workspaces = {"default", "team-*", "*.tmp", "a*b*c"};
  for (auto good : {"default", "team-", "team-x.y", "x.tmp", "abc", "axxbyyc"}) CHECK(policy.allows_workspace(good));
  for (auto good : {"team-A", "team-aB_9", "X.tmp"}) CHECK(policy.allows_workspace(good));
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
