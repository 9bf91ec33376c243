#include "policies/egress_rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "policies/checked.h"
#include "policies/host_name.h"
#include "policies/names.h"
#include "supervisor/base/ascii.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/log.h"

namespace policies {
namespace {

constexpr size_t kMaxRules = 100, kMaxPorts = 32, kMaxPatterns = 64, kMaxPatternBytes = 256;
constexpr size_t kMaxRulesBytes = 64 << 10;  // they go to the proxy with each execution
constexpr uint16_t kPlainPort = 80, kTlsPort = 443;
constexpr std::string_view kHeaderCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
// Headers of the message itself and of its destination: the proxy writes them.
constexpr std::string_view kFixedHeaders[] = {
    "host",    "content-length", "transfer-encoding", "connection",       "te",    "proxy-authorization",
    "upgrade", "trailer",        "keep-alive",        "proxy-connection", "expect"};

std::vector<uint16_t> read_ports(Checked& in) {
  std::vector<uint16_t> ports;
  if (!in.has("ports")) return {kTlsPort};
  for (const Json& port : in.list_or_empty("ports")) {
    if (port.is_number_integer() && port.get<int64_t>() >= 1 && port.get<int64_t>() <= UINT16_MAX) {
      ports.push_back(port.get<uint16_t>());
    } else {
      in.wrong("ports", "a port is a number from 1 to 65535");
    }
  }
  const size_t listed = in.list_or_empty("ports").size();
  if (listed == 0 || listed > kMaxPorts) in.wrong("ports", "a list of 1 to 32 ports");
  return ports;
}

void check_patterns(std::string_view key, const std::vector<std::string>& patterns, std::string_view first,
                    Checked& in) {
  if (in.has(key) && (patterns.empty() || patterns.size() > kMaxPatterns))
    in.wrong(key, "a list of 1 to 64; without the key, all are allowed");
  for (const std::string& pattern : patterns) {
    if (pattern.empty() || pattern.size() > kMaxPatternBytes || first.find(pattern.front()) == first.npos ||
        std::any_of(pattern.begin(), pattern.end(), [](char c) { return c <= ' ' || c == 0x7f; }))
      in.wrong(key, fmt::format("\"{}\" is not one: at most 256 characters without a space, for example {}",
                                printable(pattern, 64), key == "paths" ? "\"/v1/*\"" : "\"GET\""));
  }
}

EgressSecret read_egress_secret(const Json& object, const std::string& path, std::vector<Error>& problems) {
  Checked in(object, path, problems);
  EgressSecret secret{in.string("header", 64), in.string("file", 4096)};
  in.done();
  const std::string name = lower_case(secret.header);
  if (name.empty() || name.find_first_not_of(kHeaderCharacters) != name.npos)
    in.wrong("header", "not the name of a header, for example \"Authorization\"");
  if (std::find(std::begin(kFixedHeaders), std::end(kFixedHeaders), name) != std::end(kFixedHeaders))
    in.wrong("header", "the proxy itself writes this header; a secret is in another one");
  if (!secret.file.starts_with('/')) in.wrong("file", "not an absolute path");
  return secret;
}

EgressRule read_egress_rule(const Json& object, const std::string& path, std::vector<Error>& problems) {
  Checked in(object, path, problems);
  EgressRule rule;
  rule.name = in.string_or("name", "", 64);
  auto host = parse_host_pattern(in.string("host", 255));
  if (host) {
    rule.host = *std::move(host);
  } else if (in.good()) {
    in.wrong("host", host.error().what);
  }
  rule.ports = read_ports(in);
  rule.methods = in.strings_or("methods", {});
  check_patterns("methods", rule.methods, "ABCDEFGHIJKLMNOPQRSTUVWXYZ", in);
  rule.paths = in.strings_or("paths", {});
  check_patterns("paths", rule.paths, "/*", in);
  if (const Json* secret = in.find("secret")) rule.secret = read_egress_secret(*secret, path + ".secret", problems);
  rule.is_private = in.boolean_or("private", false);
  rule.is_loopback = in.boolean_or("loopback", false);
  if (in.has("verdict")) {
    const std::string verdict = in.one_of("verdict", {"deny", "allow", "ask"});
    rule.verdict = verdict == "allow" ? Verdict::allow : verdict == "ask" ? Verdict::ask : Verdict::deny;
  }
  in.done();
  if (rule.secret && rule.host.starts_with("*."))
    in.wrong("secret", "a secret goes to one host; write its whole name in `host`");
  if (rule.secret && std::find(rule.ports.begin(), rule.ports.end(), kPlainPort) != rule.ports.end())
    in.wrong("ports", "a secret is never sent over port 80, which is not encrypted");
  return rule;
}

bool fits_any(const std::vector<std::string>& patterns, std::string_view text) {
  return patterns.empty() || std::any_of(patterns.begin(), patterns.end(),
                                         [&](const std::string& name) { return matches_pattern(name, text); });
}

// An escape that another reader may undo before it looks at the path: of a letter, a digit, a mark of paths, or of '%'.
bool is_ambiguous(std::string_view escape) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(escape.data() + 1, escape.data() + escape.size(), value, 16);
  if (escape.size() != 3 || error != std::errc() || end != escape.data() + 3) return true;
  const auto c = static_cast<char>(value);
  return is_alnum(c) || value == 0 || std::string_view("-._~/\\%;").find(c) != std::string_view::npos;
}

// A path that the host could read as another one: then patterns of paths say nothing about it.
bool is_plain_path(std::string_view target) {
  const std::string_view path = target.substr(0, target.find('?'));
  if (path.find("//") != path.npos || path.find('\\') != path.npos) return false;
  for (size_t at = path.find('%'); at != path.npos; at = path.find('%', at + 1))
    if (is_ambiguous(path.substr(at, 3))) return false;
  if (path.find(';') != path.npos) return false;
  for (const std::string_view part : {"/./", "/../"})
    if (path.find(part) != path.npos) return false;
  return !path.ends_with("/.") && !path.ends_with("/..");
}

bool has_port(const EgressRule& rule, uint16_t port) {
  return std::find(rule.ports.begin(), rule.ports.end(), port) != rule.ports.end();
}

}  // namespace

std::string EgressRules::rule_name(size_t index) const {
  const EgressRule& rule = rules.at(index);
  return fmt::format("egress.rules[{}] ({})", index, rule.name.empty() ? rule.host : rule.name);
}

std::vector<std::string> EgressRules::shown_hosts() const {
  std::vector<std::string> hosts;
  for (const EgressRule& rule : rules) {
    std::string host = (rule.is_inspected() ? "http://" : "") + rule.host;
    if (rule.verdict != Verdict::deny && std::find(hosts.begin(), hosts.end(), host) == hosts.end())
      hosts.push_back(std::move(host));
  }
  return hosts;
}

EgressDecision EgressRules::decide(const EgressTarget& target) const {
  EgressDecision denied;
  denied.why = "no rule has this host";
  denied.remedy = "an administrator can allow it with a rule in the policy's \"egress\"";
  for (size_t i = 0; i < rules.size(); i++) {
    const EgressRule& rule = rules[i];
    if (!matches_host(rule.host, target.host)) continue;
    const bool is_inspected = rule.is_inspected();
    const uint16_t requested = target.port ? target.port : is_inspected ? rule.ports.front() : kPlainPort;
    // The rule that came nearest explains the denial, unless an earlier one did.
    const auto refuse = [&](std::string why, std::string remedy) {
      if (!denied.rule) denied = {Verdict::deny, i, std::move(why), std::move(remedy), 0, false};
    };
    if (!has_port(rule, requested)) {
      refuse(fmt::format("the rule has no port {}", requested),
             fmt::format("its ports: {}", fmt::join(rule.ports, ", ")));
    } else if (is_inspected && target.is_tunnel()) {
      // No later rule allows it either: a wider one must not be a way around this one.
      denied.rule.reset();
      refuse("the rule reads the requests, so it takes no tunnel",
             fmt::format("ask with http://{}/...: the proxy speaks HTTPS to the host", target.host));
      return denied;
    } else if (!fits_any(rule.methods, target.method)) {
      refuse(fmt::format("the rule has no method {}", printable(target.method, 16)),
             fmt::format("its methods: {}", fmt::join(rule.methods, ", ")));
    } else if (!rule.paths.empty() && !is_plain_path(target.path)) {
      // No later rule allows it either: this one may be the rule for what the path really is.
      denied.rule.reset();
      refuse("the path has parts that a host may read as another path",
             "write the path without \"..\", \"//\" and needless escapes");
      return denied;
    } else if (!fits_any(rule.paths, std::string_view(target.path).substr(0, target.path.find('?')))) {
      refuse("the rule does not have this path", fmt::format("its paths: {}", fmt::join(rule.paths, ", ")));
    } else {
      // A rule that reads the requests of this host is not walked around by a wider one.
      const auto is_read = [&](const EgressRule& egress_rule) {
        return egress_rule.is_inspected() && matches_host(egress_rule.host, target.host) &&
               (!target.is_tunnel() || has_port(egress_rule, requested));
      };
      if (!is_inspected && rule.verdict != Verdict::deny && std::any_of(rules.begin(), rules.end(), is_read)) {
        refuse("another rule reads the requests to this host", fmt::format("ask with http://{}/...", target.host));
        continue;
      }
      EgressDecision decision{rule.verdict, i,         {},
                              {},           requested, target.is_tunnel() || (is_inspected && requested != kPlainPort)};
      if (rule.verdict == Verdict::deny) decision.why = "the rule denies it";
      return decision;
    }
  }
  return denied;
}

EgressRules read_egress_rules(const Json& object, std::vector<Error>& problems, const std::string& path) {
  Checked in(object, path, problems);
  EgressRules egress;
  if (!in.has("rules")) in.wrong("rules", "missing");
  const Json& rules = in.list_or_empty("rules");
  if (rules.size() > kMaxRules) in.wrong("rules", "more than 100 rules");
  for (size_t i = 0; i < std::min(rules.size(), kMaxRules); i++)
    egress.rules.push_back(read_egress_rule(rules[i], fmt::format("{}.rules[{}]", path, i), problems));
  if (dump_json(rules).size() > kMaxRulesBytes) in.wrong("rules", "longer than 64 KiB together");
  egress.connections = static_cast<uint32_t>(in.integer("connections", 1, 256));
  egress.bytes_up = static_cast<uint64_t>(in.integer("bytes_up", 0, int64_t{1} << 50));
  egress.bytes_down = static_cast<uint64_t>(in.integer("bytes_down", 0, int64_t{1} << 50));
  egress.seconds = std::chrono::seconds(in.integer("seconds", 1, 7 * 24 * 3600));
  in.done();
  return egress;
}

Json egress_rules_json(const EgressRules& rules) {
  Json list = Json::array();
  for (const EgressRule& rule : rules.rules) {
    Json item{{"name", rule.name},
              {"host", rule.host},
              {"ports", rule.ports},
              {"private", rule.is_private},
              {"loopback", rule.is_loopback}};
    if (!rule.methods.empty()) item["methods"] = rule.methods;
    if (!rule.paths.empty()) item["paths"] = rule.paths;
    if (rule.secret) item["secret"] = Json{{"header", rule.secret->header}, {"file", rule.secret->file}};
    item["verdict"] = rule.verdict == Verdict::allow ? "allow" : rule.verdict == Verdict::ask ? "ask" : "deny";
    list.push_back(std::move(item));
  }
  return {{"rules", std::move(list)},
          {"connections", rules.connections},
          {"bytes_up", rules.bytes_up},
          {"bytes_down", rules.bytes_down},
          {"seconds", rules.seconds.count()}};
}

}  // namespace policies
