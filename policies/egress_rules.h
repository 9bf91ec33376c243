// EgressRules: which hosts the code in a tenant's jails may reach by name, and how much.
// Source: the "egress" object of policies/*.json; without it there is no network. Applied by supervisor/egress, which
// gets the rules of each execution. Errors: problems that name the key, "egress.rules[2].host: ...".
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policies/call_rules.h"
#include "supervisor/base/json/json_fwd.h"
#include "supervisor/base/result.h"

namespace policies {

// EgressSecret: a header for each request of a rule, added by the proxy. Code in the jail never sees the value.
struct EgressSecret {
  std::string header;  // "Authorization"
  std::string file;    // absolute path; its text without the last line end is the header's value
  bool operator==(const EgressSecret&) const = default;
};

struct EgressRule {
  std::string name;                  // for refusals; without one: the host
  std::string host;                  // a host name, or "*." before one (policies/host_name.h)
  std::vector<uint16_t> ports;       // at least one
  std::vector<std::string> methods;  // empty: all
  std::vector<std::string> paths;    // patterns, '*' stands for any characters; empty: all
  std::optional<EgressSecret> secret;
  // Addresses that the host may have beside public ones (supervisor/protocol/http/addresses.h).
  bool is_private = false;   // of private networks
  bool is_loopback = false;  // of this machine
  Verdict verdict = Verdict::allow;

  bool operator==(const EgressRule&) const = default;
  // Whether the proxy must read the requests: then code asks with http://, the proxy speaks HTTPS to the host, and a
  // tunnel (CONNECT) is refused.
  bool is_inspected() const { return secret || !methods.empty() || !paths.empty(); }
};

// EgressTarget: what a request from a jail asks for.
struct EgressTarget {
  std::string method;  // "CONNECT": a tunnel
  std::string host;    // as parse_host_name() returns it
  uint16_t port = 0;   // 0: the request has no port
  std::string path;    // of a tunnel: empty

  bool is_tunnel() const { return method == "CONNECT"; }
};

struct EgressDecision {
  Verdict verdict = Verdict::deny;
  std::optional<size_t> rule;  // index in EgressRules::rules
  std::string why, remedy;     // of a denial
  uint16_t port = 0;           // to dial
  bool is_tls = false;         // the proxy speaks TLS to the host; in a tunnel, code does
};

struct EgressRules {
  std::vector<EgressRule> rules;    // the first rule that fits decides; no rule: denied
  uint32_t connections = 0;         // of one execution at a time; further ones wait
  uint64_t bytes_up = 0;            // that one execution may send
  uint64_t bytes_down = 0;          // that one execution may receive
  std::chrono::seconds seconds{0};  // the longest time of one connection

  bool is_on() const { return !rules.empty(); }
  bool operator==(const EgressRules&) const = default;
  EgressDecision decide(const EgressTarget& target) const;
  // The hosts for an agent: "*.pypi.org", and with "http://" those that the proxy speaks HTTPS to for the code. Without
  // hosts that a rule denies.
  std::vector<std::string> shown_hosts() const;
  // "egress.rules[0] (pypi)"
  std::string rule_name(size_t index) const;
};

// Adds the errors in `object` to `problems`. `path`: its key, for them.
EgressRules read_egress_rules(const Json& object, std::vector<Error>& problems, const std::string& path = "egress");
// The same object as JSON, as read_egress_rules() takes it: for the proxy.
Json egress_rules_json(const EgressRules& rules);

}  // namespace policies
