// CallRates: how often each tenant has called what its policy counts, in the last 60 seconds. In memory: a daemon that
// starts has counted nothing.
// Source: `calls.rates` of the policy. Applied by upstream_call.cc to calls that the rules let through, before anybody
// is asked. Errors: exhausted, naming the rule, and when there is room again.
#pragma once
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "policies/call_rules.h"
#include "supervisor/base/clock.h"

namespace calls {

class CallRates {
 public:
  // Counts the call under every rule that names its tool, or under none when one of them has no room.
  Result<> take(const std::string& tenant, const policies::CallRules& rules, std::string_view server,
                std::string_view tool, Monotonic::time_point now = Monotonic::now());

 private:
  using Calls = std::deque<Monotonic::time_point>;  // of one rule, oldest first; never more than the rule allows
  std::map<std::pair<std::string, std::string>, Calls> calls_;  // by tenant and name of the rule
  Monotonic::time_point forgotten_;                             // when those without calls last went
};

}  // namespace calls
