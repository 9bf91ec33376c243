// CallRates: counts each tenant's calls of the last 60 seconds, for each rate rule of its policy. The counts are in
// memory only: they are zero when the daemon starts.
// Source: `calls.rates` of the policy. Applied by upstream_call.cc to calls that the rules let through, before a person
// is asked. Errors: exhausted, with the rule and the time until there is room again.
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
  // Counts the call for each rule that names its tool. If one of these rules has no room, the call counts for no rule.
  Result<> take(const std::string& tenant, const policies::CallRules& rules, std::string_view server,
                std::string_view tool, Monotonic::time_point now = Monotonic::now());

 private:
  using Calls = std::deque<Monotonic::time_point>;  // of one rule, oldest first; never more than the rule allows
  std::map<std::pair<std::string, std::string>, Calls> calls_;  // by tenant and name of the rule
  Monotonic::time_point forgotten_;                             // when entries without calls were last removed
};

}  // namespace calls
