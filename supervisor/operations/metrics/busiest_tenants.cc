#include "supervisor/operations/metrics/busiest_tenants.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>

#include "jail/execution/outcome.h"

namespace metrics {
namespace {

using executions::ExecutionRecord;
using Days = std::chrono::duration<double, std::ratio<86'400>>;

constexpr std::string_view kEndsAtLimit[] = {"timeout", "cpu_time", "memory", "pids", "output"};
static_assert(std::all_of(std::begin(kEndsAtLimit), std::end(kEndsAtLimit), jail::is_outcome_name));
constexpr double kMaxDays = 1000;        // 2 to the power of it still fits a double
constexpr double kClearlyBusier = 1.25;  // times the least busy tenant, and kMoreRuns executions of now
constexpr double kMoreRuns = 5;

BusiestTenants::EndKind kind_of(const ExecutionRecord& execution) {
  using EndKind = BusiestTenants::EndKind;
  if (execution.outcome == "cancelled") return EndKind::cancelled;
  if (execution.outcome == "disk" || execution.rule.starts_with("quota.")) return EndKind::quota;
  // No policy refused it: no jail could be made, or the daemon ends.
  if (execution.rule == code_name(Code::internal) || execution.rule == code_name(Code::unavailable))
    return EndKind::failed;
  if (!execution.rule.empty()) return EndKind::refused;
  if (execution.outcome == "ok") return EndKind::ok;
  const bool limit =
      std::find(std::begin(kEndsAtLimit), std::end(kEndsAtLimit), execution.outcome) != std::end(kEndsAtLimit);
  return limit ? EndKind::limit : EndKind::failed;
}

}  // namespace

BusiestTenants::BusiestTenants(executions::ExecutionRegistry& registry, size_t max,
                               std::function<Monotonic::time_point()> now)
    : max_(max), now_(std::move(now)), started_(now_()) {
  observing_ = registry.observe({
      .changed =
          [this](const executions::ExecutionRecordPtr& execution,
                 executions::ExecutionRegistry::RegistryEvent subject) {
            if (subject == executions::ExecutionRegistry::RegistryEvent::ended) note(*execution);
          },
      .limit_reached = [](const ExecutionRecord&, const std::string&) {},
  });
}

void BusiestTenants::note(const ExecutionRecord& execution) {
  const std::string& name = execution.tenant.account;
  auto [slot, is_new] = tenants_.try_emplace(name);
  KnownTenant& tenant = slot->second;
  // Old scores are not reduced; those of later executions grow instead.
  const double weight = std::exp2(std::min(Days(now_() - started_).count(), kMaxDays));
  tenant.score += weight;
  if (!tenant.is_named && name != kOtherTenants && gets_name(tenant, weight)) {
    tenant.is_named = true;
    if (!tenant.sum) tenant.sum = std::make_unique<Sum>();
    named_.emplace(slot->first, &tenant);
  }
  Sum& sum = tenant.is_named ? *tenant.sum : remainder_;
  sum.ends[static_cast<size_t>(kind_of(execution))]++;
  sum.cpu_us += static_cast<uint64_t>(std::max(execution.usage.cpu_ms.value_or(0), 0.0) * 1000);
}

void BusiestTenants::forget(std::string_view tenant) {
  const auto it = tenants_.find(tenant);
  if (it == tenants_.end()) return;
  named_.erase(it->first);
  tenants_.erase(it);
}

// Takes the name of the least busy tenant away if `tenant` is clearly busier.
bool BusiestTenants::gets_name(const KnownTenant& tenant, double weight) {
  if (named_.size() < max_) return true;
  const auto least = std::min_element(named_.begin(), named_.end(),
                                      [](const auto& a, const auto& b) { return a.second->score < b.second->score; });
  if (least == named_.end() || tenant.score <= least->second->score * kClearlyBusier + weight * kMoreRuns) return false;
  least->second->is_named = false;
  named_.erase(least);
  return true;
}

}  // namespace metrics
