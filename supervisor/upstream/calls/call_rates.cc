#include "supervisor/upstream/calls/call_rates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "policies/names.h"

namespace calls {
namespace {

constexpr std::chrono::seconds kWindow{60};

void forget_old(std::deque<Monotonic::time_point>& calls, Monotonic::time_point now) {
  while (!calls.empty() && now - calls.front() >= kWindow) calls.pop_front();
}

}  // namespace

Result<> CallRates::take(const std::string& tenant, const policies::CallRules& rules, std::string_view server,
                         std::string_view tool, Monotonic::time_point now) {
  if (rules.rates.empty()) return {};
  if (now - forgotten_ >= kWindow) {
    for (auto& [key, calls] : calls_) forget_old(calls, now);
    std::erase_if(calls_, [](const auto& item) { return item.second.empty(); });
    forgotten_ = now;
  }
  const std::string name = fmt::format("{}.{}", server, tool);
  std::vector<Calls*> counted;
  for (const policies::RateRule& rule : rules.rates) {
    const bool named = std::any_of(rule.tools.begin(), rule.tools.end(),
                                   [&](const auto& pattern) { return policies::matches_pattern(pattern, name); });
    if (!named) continue;
    Calls& calls = calls_[{tenant, rule.name}];
    forget_old(calls, now);
    if (calls.size() < rule.per_minute) {
      counted.push_back(&calls);
      continue;
    }
    const std::string message =
        fmt::format("{} is called too often: {} calls per minute are allowed", name, rule.per_minute);
    if (rule.per_minute == 0)
      return fail(Code::exhausted, message, "solve the task without this tool", "calls." + rule.name);
    const std::chrono::duration<double> remaining = kWindow - (now - calls[calls.size() - rule.per_minute]);
    return fail(Code::exhausted, message, fmt::format("call again in {:.0f} s", std::ceil(remaining.count())),
                "calls." + rule.name);
  }
  for (Calls* calls : counted) calls->push_back(now);
  return {};
}

}  // namespace calls
