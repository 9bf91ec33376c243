#include "policies/tenant_rules.h"

#include "supervisor/base/json/json_value.h"
#include "tests/catch.h"

using namespace policies;

namespace {
std::string tenant_problems(const Json& document) {
  auto rules = TenantRules::parse(document);
  if (rules) return "";
  std::string all;
  for (const auto& problem : rules.error()) all += (all.empty() ? "" : "\n") + problem.what;
  return all;
}
std::string match(const TenantRules& rules, const Peer& peer) {
  auto it = rules.find(peer);
  return it ? it->tenant + " under " + it->policy : "nobody";
}
}  // namespace

TEST_CASE("the first rule that fits decides", "[tenants]") {
  auto rules = TenantRules::parse(Json::parse(R"({"rules": [
    {"uid": 1000, "tenant": "alice", "policy": "trusted"},
    {"user": "root", "tenant": "admin", "policy": "root"},
    {"gid": 500, "tenant": "team", "policy": "shared"},
    {"group": "root", "tenant": "wheel-{uid}", "policy": "groups"},
    {"default": true, "policy": "strict"}]})"));
  REQUIRE(rules);
  CHECK(match(*rules, {1000, 500, {}}) == "alice under trusted");
  CHECK(match(*rules, {0, 0, {}}) == "admin under root");
  CHECK(match(*rules, {1001, 500, {}}) == "team under shared");
  CHECK(match(*rules, {1002, 7, {8, 500}}) == "team under shared");  // a supplementary group
  CHECK(match(*rules, {1003, 7, {0}}) == "wheel-1003 under groups");
  CHECK(match(*rules, {1004, 7, {8}}) == "uid-1004 under strict");
}

TEST_CASE("a unit is a tenant, and who cannot be placed gets no later rule", "[tenants]") {
  auto rules = TenantRules::parse(Json::parse(R"({"rules": [
    {"uid": 5, "policy": "first"},
    {"unit": "agent-*.service", "tenant": "agents", "policy": "strict"},
    {"default": true, "policy": "lax"}]})"));
  REQUIRE(rules);
  CHECK(rules->ask_for_units());
  CHECK(match(*rules, {7, 7, {}, "agent-a.service"}) == "agents under strict");
  CHECK(match(*rules, {7, 7, {}, "agent-a.socket"}) == "uid-7 under lax");
  CHECK(match(*rules, {7, 7, {}, ""}) == "uid-7 under lax");
  CHECK(match(*rules, {7, 7, {}, std::nullopt}) == "nobody");
  CHECK(match(*rules, {5, 7, {}, std::nullopt}) == "uid-5 under first");
  CHECK_FALSE(TenantRules::all_users("x").ask_for_units());
}

TEST_CASE("who fits no rule is nobody", "[tenants]") {
  auto rules = TenantRules::parse(Json::parse(R"({"rules": [{"uid": 5, "policy": "p"}]})"));
  REQUIRE(rules);
  CHECK(match(*rules, {5, 0, {}}) == "uid-5 under p");
  CHECK(match(*rules, {6, 5, {5}}) == "nobody");
}

TEST_CASE("without a file everybody is a tenant of their own", "[tenants]") {
  auto rules = TenantRules::all_users("default");
  CHECK(match(rules, {0, 0, {}}) == "uid-0 under default");
  CHECK(match(rules, {4294967294, 0, {}}) == "uid-4294967294 under default");
}

TEST_CASE("rules that are not understood are refused, with rule, key and value", "[tenants]") {
  auto [text, message] = GENERATE(table<std::string, std::string>({
      {R"([])", "a list is not an object"},
      {R"({})", "rules: not a list of 1 to 1000 rules"},
      {R"({"rules": []})", "rules: not a list of 1 to 1000 rules"},
      {R"({"rules": {}})", "rules: not a list\nrules: not a list of 1 to 1000 rules"},
      {R"({"rules": [7]})", "rules[0]: 7 is not an object"},
      {R"({"rules": [{"policy": "p"}]})",
       "rules[0].uid: a rule has exactly one of: uid, user, gid, group, unit, token, subject, default"},
      {R"({"rules": [{"uid": 1, "gid": 1, "policy": "p"}]})",
       "rules[0].uid: a rule has exactly one of: uid, user, gid, group, unit, token, subject, default"},
      {R"({"rules": [{"uid": 4294967295, "policy": "p"}]})", "rules[0].uid: 4294967295 is outside 0..4294967294"},
      {R"({"rules": [{"uid": "root", "policy": "p"}]})", "rules[0].uid: \"root\" is not an integer"},
      {R"({"rules": [{"uid": 1, "tenant": "../x", "policy": "p"}]})",
       "rules[0].tenant: \"../x\" is not 1 to 64 of a-z, 0-9, _, . and -, or starts with a dot"},
      {R"({"rules": [{"uid": 1, "tenant": "{user}", "policy": "p"}]})",
       "rules[0].tenant: \"{user}\" is not 1 to 64 of a-z, 0-9, _, . and -, or starts with a dot"},
      {R"({"rules": [{"unit": "a/b.service", "policy": "p"}]})",
       "rules[0].unit: \"a/b.service\" is not the name of a unit, such as \"agent-*.service\""},
      {R"({"rules": [{"unit": "agents", "policy": "p"}]})",
       "rules[0].unit: \"agents\" is not the name of a unit, such as \"agent-*.service\""},
      {R"({"rules": [{"uid": 1}]})", "rules[0].policy: missing"},
      {R"({"rules": [{"default": false, "policy": "p"}]})", "rules[0].default: can only be true"},
      {R"({"rules": [{"default": true, "policy": "p"}, {"uid": 1, "policy": "p"}]})",
       "rules[0].default: is not the last rule"},
      {R"({"rules": [{"uid": 1, "policy": "p", "polic": 1}], "extra": 1})",
       "rules[0].polic: unknown key; known keys: default, gid, group, policy, subject, tenant, token, uid, unit, user\n"
       "extra: unknown key; known keys: $schema, description, rules"},
  }));
  CAPTURE(text);
  CHECK(tenant_problems(Json::parse(text)) == message);
}

TEST_CASE("a rule with a user or group that does not exist fits no peer, and warns", "[tenants]") {
  const auto rules = TenantRules::parse(Json::parse(R"({"rules": [
    {"user": "no-such-user", "policy": "a"}, {"group": "no-such-group", "policy": "b"}, {"default": true, "policy": "c"}
  ]})"));
  REQUIRE(rules);
  CHECK(rules->warnings() ==
        std::vector<std::string>{"rules[0].user: this machine has no user \"no-such-user\"; the rule is skipped",
                                 "rules[1].group: this machine has no group \"no-such-group\"; the rule is skipped"});
  CHECK(match(*rules, {0, 0, {}}) == "uid-0 under c");
  CHECK(rules->rules().size() == 3);  // policies of skipped rules are checked, too
}

TEST_CASE("a second rule for the same callers warns", "[tenants]") {
  const auto rules = TenantRules::parse(Json::parse(R"({"rules": [
    {"user": "root", "policy": "a"}, {"gid": 0, "policy": "a"}, {"uid": 0, "policy": "b"},
    {"token": "ci-*", "policy": "a"}, {"token": "ci", "policy": "a"}, {"default": true, "policy": "c"}
  ]})"));
  REQUIRE(rules);
  CHECK(rules->warnings() == std::vector<std::string>{"rules[2] is never used: rules[0] is for the same callers"});
  CHECK(match(*rules, {0, 0, {}}) == "uid-0 under a");
}

TEST_CASE("a rule that names a token fits tokens of that name, and no process", "[tenants]") {
  auto rules = TenantRules::parse(Json::parse(R"({"rules": [
    {"token": "ci", "tenant": "builds", "policy": "strict"},
    {"token": "ci-*", "policy": "strict"},
    {"token": "*-bot", "tenant": "bots-{token}", "policy": "lax"},
    {"uid": 5, "policy": "p"},
    {"default": true, "policy": "others"}]})"));
  REQUIRE(rules);
  const auto of_token = [&](const std::string& name) {
    auto it = rules->find(TokenBearer{name});
    return it ? it->tenant + " under " + it->policy : "nobody";
  };
  CHECK(of_token("ci") == "builds under strict");
  CHECK(of_token("ci-1") == "token-ci-1 under strict");
  CHECK(of_token("review-bot") == "bots-review-bot under lax");
  CHECK(of_token("other") == "nobody");  // "default" is for processes
  CHECK(of_token("") == "nobody");
  CHECK(match(*rules, {5, 0, {}}) == "uid-5 under p");
  CHECK(match(*rules, {6, 0, {}}) == "uid-6 under others");
  CHECK_FALSE(TenantRules::all_users("x").find(TokenBearer{"ci"}));
}

TEST_CASE("rules for tokens are checked like the others", "[tenants]") {
  const auto problem = [](const char* rule) {
    return tenant_problems(Json::parse(std::string(R"({"rules": [)") + rule + "]}"));
  };
  CHECK(problem(R"({"token": "CI", "policy": "p"})").starts_with("rules[0].token: \"CI\" is not the name of a token"));
  CHECK(problem(R"({"token": "", "policy": "p"})") != "");
  CHECK(problem(R"({"token": "ci", "uid": 5, "policy": "p"})") ==
        "rules[0].uid: a rule has exactly one of: uid, user, gid, group, unit, token, subject, default");
  CHECK(problem(R"({"token": "ci", "tenant": "a/{token}", "policy": "p"})").starts_with("rules[0].tenant: "));
  // With the longest name of a token it would be no name of a tenant.
  CHECK(problem(R"({"token": "*", "tenant": "all-the-agents-of-{token}", "policy": "p"})")
            .starts_with("rules[0].tenant"));
  CHECK(problem(R"({"token": "ci", "tenant": "x-{uid}", "policy": "p"})").starts_with("rules[0].tenant: "));
  CHECK(problem(R"({"uid": 5, "tenant": "x-{token}", "policy": "p"})").starts_with("rules[0].tenant: "));
  CHECK(problem(R"({"token": "*", "policy": "p"}, {"default": true, "policy": "p"})") == "");
}

TEST_CASE("a rule that names subjects of JWTs fits them alone", "[tenants]") {
  auto rules = TenantRules::parse(Json::parse(R"({"rules": [
    {"subject": "ada@*", "tenant": "staff", "policy": "lax"},
    {"subject": "robot-*", "tenant": "org-{claim}", "policy": "strict"},
    {"token": "*", "policy": "tokens"},
    {"default": true, "policy": "others"}]})"));
  REQUIRE(rules);
  const auto of_subject = [&](const std::string& subject, const std::string& claim) {
    auto it = rules->find(SubjectBearer{subject, claim});
    return it ? it->tenant + " under " + it->policy : "nobody";
  };
  CHECK(of_subject("ada@example.org", "") == "staff under lax");
  CHECK(of_subject("robot-7", "acme") == "org-acme under strict");
  CHECK(of_subject("robot-7", "") == "nobody");
  CHECK(of_subject("eve", "acme") == "nobody");
  CHECK(rules->find(TokenBearer{"ada@example.org"})->policy == "tokens");
  CHECK(match(*rules, {6, 0, {}}) == "uid-6 under others");
  for (const char* rule :
       {R"({"subject": "a", "policy": "p"})", R"({"subject": "", "tenant": "t", "policy": "p"})",
        R"({"subject": "a", "tenant": "{claim}", "policy": "p"})",
        R"({"subject": "a", "tenant": "{claim}-x", "policy": "p"})",
        R"({"subject": "a", "tenant": "x-{uid}", "policy": "p"})",
        R"({"subject": "a", "tenant": "organisations-of-the-identity-provider-{claim}", "policy": "p"})"}) {
    CAPTURE(rule);
    CHECK(tenant_problems(Json::parse(std::string(R"({"rules": [)") + rule + "]}")) != "");
  }
}
