// Rules of egress: which request each rule decides, what a denial says, and every mistake of a policy.
#include "policies/egress_rules.h"

#include <fmt/format.h>

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "tests/catch.h"

using namespace policies;

namespace {

EgressRules rules_of(const std::string& rules) {
  std::vector<Error> problems;
  const Json document = Json::parse(
      fmt::format(R"({{"rules": {}, "connections": 16, "bytes_up": 1000, "bytes_down": 1000, "seconds": 60}})", rules));
  EgressRules read = read_egress_rules(document, problems);
  for (const Error& problem : problems) FAIL(problem.what);
  return read;
}

std::vector<std::string> problems_of(const std::string& document) {
  std::vector<Error> problems;
  static_cast<void>(read_egress_rules(Json::parse(document), problems));
  std::vector<std::string> texts;
  for (const Error& problem : problems) texts.push_back(problem.what);
  return texts;
}

std::string problem_of_rule(const std::string& rule) {
  const auto all = problems_of(
      fmt::format(R"({{"rules": [{}], "connections": 16, "bytes_up": 0, "bytes_down": 0, "seconds": 60}})", rule));
  return all.size() == 1 ? all[0] : fmt::format("{} problems", all.size());
}

}  // namespace

TEST_CASE("egress: a tunnel and a plain request") {
  const EgressRules rules =
      rules_of(R"([{"host": "*.pypi.org"}, {"name": "plain", "host": "deb.debian.org", "ports": [80]}])");
  const auto tunnel = rules.decide({"CONNECT", "files.pypi.org", 443, ""});
  CHECK(tunnel.verdict == Verdict::allow);
  CHECK(tunnel.port == 443);
  CHECK(tunnel.is_tls);
  CHECK(rules.rule_name(*tunnel.rule) == "egress.rules[0] (*.pypi.org)");
  const auto plain = rules.decide({"GET", "deb.debian.org", 0, "/debian"});
  CHECK(plain.verdict == Verdict::allow);
  CHECK(plain.port == 80);
  CHECK_FALSE(plain.is_tls);
  CHECK(rules.rule_name(*plain.rule) == "egress.rules[1] (plain)");

  const auto other = rules.decide({"CONNECT", "example.com", 443, ""});
  CHECK(other.verdict == Verdict::deny);
  CHECK_FALSE(other.rule);
  CHECK(other.why == "no rule has this host");
  const auto port = rules.decide({"CONNECT", "files.pypi.org", 22, ""});
  CHECK(port.why == "the rule has no port 22");
  CHECK(port.remedy == "its ports: 443");
  CHECK(rules.decide({"GET", "files.pypi.org", 0, "/"}).verdict == Verdict::deny);
}

TEST_CASE("egress: a rule that reads requests is served as HTTPS, and no wider rule is a way around it") {
  const std::string inspected =
      R"({"host": "api.example.com", "ports": [443, 8443], "methods": ["GET"], "paths": ["/v1/*"],
    "secret": {"header": "Authorization", "file": "/etc/warder/key"}})";
  for (const std::string& order :
       {inspected + R"(, {"host": "*.example.com"})", R"({"host": "*.example.com"}, )" + inspected}) {
    INFO(order);
    const EgressRules rules = rules_of("[" + order + "]");
    const auto read = rules.decide({"GET", "api.example.com", 0, "/v1/users?x=1"});
    CHECK(read.verdict == Verdict::allow);
    CHECK(read.port == 443);
    CHECK(read.is_tls);
    CHECK(rules.rules[*read.rule].secret->header == "Authorization");
    CHECK(rules.decide({"GET", "api.example.com", 8443, "/v1/"}).port == 8443);
    const auto tunnel = rules.decide({"CONNECT", "api.example.com", 443, ""});
    CHECK(tunnel.verdict == Verdict::deny);
    CHECK(tunnel.why == "the rule reads the requests, so it takes no tunnel");
    CHECK(rules.decide({"CONNECT", "www.example.com", 443, ""}).verdict == Verdict::allow);
    CHECK(rules.decide({"POST", "api.example.com", 0, "/v1/users"}).verdict == Verdict::deny);
    CHECK(rules.decide({"GET", "api.example.com", 0, "/v2/users"}).verdict == Verdict::deny);
    for (const char* path :
         {"/v1/../v2", "/v1/%2e%2e/v2", "/v1//v2", "/v1/..", "/v1/%2fv2", "/v1/..%5cv2", "/v1\\v2", "/v1/a;b"}) {
      INFO(path);
      CHECK(rules.decide({"GET", "api.example.com", 0, path}).verdict == Verdict::deny);
    }
  }
}

TEST_CASE("egress: the first rule that fits decides") {
  const EgressRules rules =
      rules_of(R"([{"host": "a.example.com", "verdict": "deny"}, {"host": "b.example.com", "verdict": "ask"},
    {"host": "*.example.com"}])");
  CHECK(rules.decide({"CONNECT", "a.example.com", 443, ""}).verdict == Verdict::deny);
  CHECK(rules.decide({"CONNECT", "a.example.com", 443, ""}).why == "the rule denies it");
  CHECK(rules.decide({"CONNECT", "b.example.com", 443, ""}).verdict == Verdict::ask);
  CHECK(rules.decide({"CONNECT", "c.example.com", 443, ""}).verdict == Verdict::allow);
}

TEST_CASE("egress: a path in disguise is not decided by a later rule") {
  const EgressRules rules =
      rules_of(R"([{"host": "a.com", "paths": ["/admin/*"], "verdict": "deny"}, {"host": "a.com", "paths": ["/*"]}])");
  for (const char* path :
       {"/x/../admin/k", "/%61dmin/k", "/%2561dmin", "/admin%2fk", "/a%zzb", "/a%2", "//admin/k", "/admin/k"}) {
    INFO(path);
    CHECK(rules.decide({"GET", "a.com", 0, path}).verdict == Verdict::deny);
  }
  CHECK(rules.decide({"GET", "a.com", 0, "/a%20b?x=%61"}).verdict == Verdict::allow);
}

TEST_CASE("egress: a wider rule does not serve the plain requests of a host whose requests are read") {
  for (
      const char* order :
      {R"([{"host": "a.example.com", "methods": ["GET"]}, {"host": "*.example.com", "ports": [80, 443]}, {"host": "a.example.com", "ports": [80]}])",
       R"([{"host": "a.example.com", "ports": [80]}, {"host": "a.example.com", "methods": ["GET"]}])"}) {
    const EgressRules rules = rules_of(order);
    CHECK(rules.decide({"POST", "a.example.com", 0, "/"}).verdict == Verdict::deny);
    CHECK(rules.decide({"POST", "a.example.com", 80, "/"}).verdict == Verdict::deny);
    CHECK(rules.decide({"GET", "a.example.com", 0, "/"}).is_tls);
  }
}

TEST_CASE("egress: the hosts for an agent") {
  const EgressRules rules =
      rules_of(R"([{"host": "*.pypi.org"}, {"host": "*.pypi.org", "ports": [80]}, {"host": "a.com", "paths": ["/v1"]},
    {"host": "b.com", "verdict": "deny"}])");
  CHECK(rules.shown_hosts() == std::vector<std::string>{"*.pypi.org", "http://a.com"});
}

TEST_CASE("egress: mistakes in a policy are named") {
  CHECK(problem_of_rule(R"({"host": "*"})").starts_with("egress.rules[0].host: the host '*'"));
  CHECK(problem_of_rule(R"({"host": "10.0.0.1"})") == "egress.rules[0].host: the host '10.0.0.1' is an address");
  CHECK(problem_of_rule(R"({"host": "a.com", "ports": []})") == "egress.rules[0].ports: a list of 1 to 32 ports");
  CHECK(problem_of_rule(R"({"host": "a.com", "ports": [0]})").starts_with("egress.rules[0].ports: a port is a number"));
  CHECK(problem_of_rule(R"({"host": "a.com", "ports": ["443"]})")
            .starts_with("egress.rules[0].ports: a port is a number"));
  CHECK(problem_of_rule(R"({"host": "a.com", "methods": ["get"]})").starts_with("egress.rules[0].methods: \"get\""));
  CHECK(problem_of_rule(R"({"host": "a.com", "paths": ["v1"]})").starts_with("egress.rules[0].paths: \"v1\""));
  CHECK(problem_of_rule(R"({"host": "*.a.com", "secret": {"header": "X-Key", "file": "/k"}})")
            .starts_with("egress.rules[0].secret: "));
  CHECK(problem_of_rule(R"({"host": "a.com", "secret": {"header": "Host", "file": "/k"}})")
            .starts_with("egress.rules[0].secret.header"));
  CHECK(problem_of_rule(R"({"host": "a.com", "secret": {"header": "X-Key\r\nA", "file": "/k"}})")
            .starts_with("egress.rules[0].secret.header"));
  CHECK(problem_of_rule(R"({"host": "a.com", "secret": {"header": "X-Key", "file": "k"}})")
            .starts_with("egress.rules[0].secret.file"));
  CHECK(problem_of_rule(R"({"host": "a.com", "ports": [80], "secret": {"header": "X-Key", "file": "/k"}})")
            .starts_with("egress.rules[0].ports: a secret"));
  CHECK(problem_of_rule(R"({"host": "a.com", "port": 443})").find("unknown key") != std::string::npos);
  CHECK(problem_of_rule(R"({"host": "a.com", "verdict": "maybe"})").starts_with("egress.rules[0].verdict"));
  CHECK(problems_of(R"({"rules": [], "connections": 0, "bytes_up": -1, "bytes_down": 1, "seconds": 0})").size() == 3);
  CHECK(problems_of(R"({"rules": [], "connections": 1})").size() == 3);
}

TEST_CASE("egress: the proxy reads the rules as they were written") {
  const EgressRules rules =
      rules_of(R"([{"name": "x", "host": "api.example.com", "ports": [443], "methods": ["GET"], "paths": ["/v1/*"],
    "secret": {"header": "X-Key", "file": "/etc/k"}, "private": true, "loopback": true, "verdict": "ask"}, {"host": "*.example.com", "verdict": "deny"}])");
  std::vector<Error> problems;
  const Json text = egress_rules_json(rules);
  const EgressRules egress_rules = read_egress_rules(text, problems);
  CHECK(problems.empty());
  CHECK(egress_rules_json(egress_rules) == text);
  CHECK(egress_rules.rules[0].secret->file == "/etc/k");
  CHECK(egress_rules.rules[0].is_private);
  CHECK(egress_rules.rules[0].is_loopback);
  CHECK(egress_rules.rules[1].verdict == Verdict::deny);
}
