#include "policies/call_rules.h"

#include "supervisor/base/json/json_value.h"
#include "tests/catch.h"
#include "tests/fresh_meter.h"

using namespace policies;

namespace {

CallRules rules(const char* list, const char* otherwise = "deny") {
  Json object{{"per_execution", 5}, {"bytes", 5000}, {"wall_ms", 100}, {"otherwise", otherwise}, {"results", "as_is"}};
  object["approval"] = {{"by", "tenant"}, {"expires_s", 60}};
  object["questions"] = "nobody";
  object["rules"] = Json::parse(list);
  std::vector<Error> problems;
  auto read = read_call_rules(object, problems);
  for (const auto& problem : problems) FAIL(problem.what);
  return read;
}

std::vector<std::string> rule_problems(const Json& rule) {
  Json object{{"per_execution", 5},  {"bytes", 5000},      {"wall_ms", 100},
              {"otherwise", "deny"}, {"results", "as_is"}, {"rules", Json::array({rule})}};
  object["approval"] = {{"by", "tenant"}, {"expires_s", 60}};
  object["questions"] = "nobody";
  std::vector<Error> problems;
  (void)read_call_rules(object, problems);
  std::vector<std::string> texts;
  for (const auto& problem : problems) texts.push_back(problem.what);
  return texts;
}

}  // namespace

TEST_CASE("the first rule that fits a call decides it", "[call_rules]") {
  auto calls = rules(R"([
    {"name": "no-etc", "tools": ["files.*"], "verdict": "deny", "why": "not there", "remedy": "stay in /data",
     "when": {"properties": {"path": {"pattern": "^/etc/"}}, "required": ["path"]}},
    {"name": "reading", "tools": ["files.read_*", "*.list"], "verdict": "allow"},
    {"name": "writing", "tools": ["files.write"], "verdict": "ask"}])");
  CHECK(calls.admit("files", "read_text", {{"path", "/data/x"}}, FreshMeter()));
  CHECK(calls.admit("mail", "list", Json::object(), FreshMeter()));
  auto refused = calls.admit("files", "read_text", {{"path", "/etc/passwd"}}, FreshMeter());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::denied);
  CHECK(refused.error().rule == "calls.no-etc");
  CHECK(refused.error().what == "files.read_text is not allowed: not there");
  CHECK(refused.error().hint == "stay in /data");
  const auto request = calls.admit("files", "write", Json::object(), FreshMeter());
  REQUIRE(request);
  CHECK(request->verdict == Verdict::ask);
  CHECK(request->name() == "calls.writing");
  const Error error = refusal("files", "write", *request, "was refused by user 0");
  CHECK(error.code == Code::denied);
  CHECK(error.what == "files.write was refused by user 0");
  CHECK(error.rule == "calls.writing");
  CHECK(calls.admit("mail", "send", Json::object(), FreshMeter()).error().rule == "calls.otherwise");
  CHECK(rules("[]", "allow").admit("mail", "send", Json::object(), FreshMeter()));
}

TEST_CASE("a condition that takes too long to check refuses the call, whatever its rule says", "[call_rules]") {
  auto calls = rules(R"([{"name": "slow", "tools": ["*"], "verdict": "allow", "when": {"$ref": "#"}}])", "allow");
  auto refused = calls.admit("a", "b", Json::object(), FreshMeter());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::denied);
}

TEST_CASE("a rule that is not understood is told with its place", "[call_rules]") {
  CHECK(rule_problems({{"name", "x"}, {"tools", {"a.b"}}, {"verdict", "deny"}}).empty());
  CHECK_THAT(rule_problems({{"name", "x"}, {"tools", {"ab"}}, {"verdict", "deny"}}).at(0),
             Catch::Contains("calls.rules[0].tools: \"ab\" is not SERVER.TOOL"));
  CHECK_THAT(rule_problems({{"name", "x"}, {"tools", {"*"}}, {"verdict", "maybe"}}).at(0),
             Catch::Contains("calls.rules[0].verdict"));
  CHECK_THAT(rule_problems({{"name", "x"}, {"tools", {"*"}}, {"verdict", "deny"}, {"when", {{"type", "text"}}}}).at(0),
             Catch::Contains("calls.rules[0].when: #/type"));
  CHECK_THAT(rule_problems({{"name", "x"}, {"tools", {"*"}}, {"verdict", "deny"}, {"if", 1}}).at(0),
             Catch::Contains("unknown key"));
}

TEST_CASE("who approves and how often a tenant may call is read, and told when it makes no sense", "[call_rules]") {
  Json object{{"per_execution", 5}, {"bytes", 5000}, {"wall_ms", 100}, {"otherwise", "ask"}, {"results", "as_is"}};
  object["approval"] = {{"by", "administrator"}, {"expires_s", 90}};
  object["questions"] = "client";
  object["rates"] = {{{"name", "mails"}, {"tools", {"mail.*"}}, {"per_minute", 3}}};
  std::vector<Error> problems;
  const auto calls = read_call_rules(object, problems);
  CHECK(problems.empty());
  CHECK(calls.approval.by == ApprovalRules::By::administrator);
  CHECK(calls.approval.expires == std::chrono::seconds(90));
  CHECK(calls.questions == CallRules::Questions::client);
  REQUIRE(calls.rates.size() == 1);
  CHECK(calls.rates[0].per_minute == 3);
  CHECK(calls.admit("a", "b", Json::object(), FreshMeter())->name() == "calls.otherwise");

  object["approval"] = {{"by", "anybody"}, {"expires_s", 0}};
  object["questions"] = "anybody";
  object["rates"][0] = {{"name", "mails"}, {"tools", {"mail"}}, {"per_minute", -1}};
  (void)read_call_rules(object, problems);
  std::string all;
  for (const auto& problem : problems) all += problem.what + "\n";
  CHECK_THAT(all, Catch::Contains("calls.questions") && Catch::Contains("calls.approval.by") &&
                      Catch::Contains("calls.approval.expires_s"));
  CHECK_THAT(all, Catch::Contains("calls.rates[0].tools") && Catch::Contains("calls.rates[0].per_minute"));
}
