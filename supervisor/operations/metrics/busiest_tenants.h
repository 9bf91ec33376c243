// BusiestTenants: sums of ended executions by tenant, for at most 100 tenants by name and for all others together, so
// that the number of time series has a bound however many tenants there are.
//
// A tenant has a name of its own while it is among the busiest: an execution counts half as much a day later. A busier
// tenant takes the place of the least busy one only if it is clearly busier, so names seldom change. An execution is
// counted once, where its tenant belongs at its end, so no sum ever decreases, and rates stay right when names change.
// Source: ExecutionRegistry. Used by: part.cc. No errors. An event costs about a
// microsecond; a scrape does not depend on the number of tenants.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <ratio>
#include <string>
#include <string_view>

#include "supervisor/base/clock.h"
#include "supervisor/executions/execution_registry.h"

namespace metrics {

// The label of all tenants without a name of their own. A tenant that is really called so is counted there, too.
inline constexpr std::string_view kOtherTenants = "other";

class BusiestTenants {
 public:
  // The ends of executions, in six kinds. limit: a limit of the policy ended it; quota: the workspace was full or over
  // its quota; refused: it received no jail, for another reason.
  enum class EndKind { ok, failed, limit, quota, refused, cancelled };
  static constexpr std::array<std::string_view, 6> kEndNames = {"ok",    "failed",  "limit",
                                                                "quota", "refused", "cancelled"};
  struct Sum {
    std::array<uint64_t, kEndNames.size()> ends{};  // by EndKind
    uint64_t cpu_us = 0;
  };
  // `now` is the clock; tests replace it.
  explicit BusiestTenants(executions::ExecutionRegistry& registry, size_t max = 100,
                          std::function<Monotonic::time_point()> now = Monotonic::now);
  BusiestTenants(const BusiestTenants&) = delete;

  // Calls `fn(name, sum)` for each tenant that has a name now, in the order of the names.
  template <class Fn>
  void each_named(Fn fn) const {
    for (const auto& [name, tenant] : named_) fn(name, *tenant->sum);
  }
  bool is_named(std::string_view tenant) const { return named_.contains(tenant); }
  const Sum& peers() const { return remainder_; }
  // For a tenant that is removed: neither its name nor its sum stay. A later tenant of that name begins at 0.
  void forget(std::string_view tenant);
  // Tenants with an execution that ended since the start.
  size_t known() const { return tenants_.size(); }

 private:
  struct KnownTenant {
    double score = 0;          // its executions, weighted by their time
    std::unique_ptr<Sum> sum;  // nullptr: it never had a name
    bool is_named = false;
  };
  void note(const executions::ExecutionRecord& execution);
  bool gets_name(const KnownTenant& tenant, double weight);

  const size_t max_;
  const std::function<Monotonic::time_point()> now_;
  const Monotonic::time_point started_;
  std::map<std::string, KnownTenant, std::less<>> tenants_;
  std::map<std::string_view, KnownTenant*> named_;  // keys and values are those of tenants_
  Sum remainder_;
  executions::ExecutionRegistry::Observers::Place observing_;
};

}  // namespace metrics
