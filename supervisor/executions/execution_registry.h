// ExecutionRegistry: a record of each execution that waits, runs, or ended lately, and the sums of all since the daemon
// started. In memory, so that looking costs next to nothing and an execution some microseconds. Source:
// execute_code.cc, one entry for each call. Read and steered by supervisor/bus.
#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "jail/execution.h"
#include "jail/handle.h"
#include "policies/policy.h"
#include "supervisor/base/clock.h"
#include "supervisor/base/loop.h"
#include "supervisor/journal/executions.h"

namespace executions {

enum class Stage { waiting, starting, running, frozen, ended };
std::string_view stage_name(Stage stage);

struct ExecutionRecord : std::enable_shared_from_this<ExecutionRecord> {
  std::string id, language;
  std::string tenant;     // Tenant::account()
  std::string workspace;  // the named one that it works in; empty: the tenant's own
  std::shared_ptr<const policies::Policy> policy;
  uint32_t uid = 0;      // of the client
  int32_t pid = 0;       // of its process, when it connected
  int64_t asked_ms = 0;  // since 1970
  std::string trace;     // traceparent under which it runs: its own span, or its caller's; empty: none
  policies::Limits limits;
  Stage stage = Stage::waiting;
  jail::Handle handle;
  std::vector<std::string> approvals;  // ids of those that it waits for, oldest first
  std::function<void()> withdraw;      // while it waits for a place: gives that up

  // Once it ended. Without a jail (refused, or cancelled before) usage and receipt are empty.
  std::string outcome, message;
  std::string start;  // how its jail came: cold, exec, fork
  std::string rule;   // that refused it, or the kind of its failure
  jail::JailUsage usage;
  std::string receipt;  // a JSON object
  int64_t ended_ms = 0;

  jail::LiveUsage now() const;
};
using ExecutionRecordPtr = std::shared_ptr<ExecutionRecord>;

// All durations of something since the daemon started, counted by how long they were.
struct Histogram {
  // Microseconds; what is longer than the last is counted behind it.
  static constexpr std::array<int64_t, 15> kBounds = {1'000,     2'000,     5'000,      10'000,     20'000,
                                                      50'000,    100'000,   200'000,    500'000,    1'000'000,
                                                      2'000'000, 5'000'000, 10'000'000, 30'000'000, 60'000'000};
  std::array<uint64_t, kBounds.size() + 1> counts{};
  uint64_t sum_us = 0;
};

// The newest kRecent durations of something and their quantiles, and all of them as a histogram.
class RecentTimes {
 public:
  void add(int64_t us);
  const Histogram& all() const { return all_; }
  const journal::Quantiles& quantiles() const;  // computed when something has changed

 private:
  std::vector<int64_t> times_;
  size_t next_ = 0;
  mutable bool stale_ = false;
  mutable journal::Quantiles quantiles_;
  Histogram all_;
};

struct Sums {  // since the daemon started
  journal::Totals totals;
  std::map<std::string, uint64_t> refused;  // calls that got no jail, by the rule that was in their way
  std::map<std::string, uint64_t> starts;   // cold, exec, fork
  RecentTimes wall_times, answer_times;
};

class ExecutionRegistry {
 public:
  explicit ExecutionRegistry(Loop& loop) : loop_(loop) {}
  ExecutionRegistry(const ExecutionRegistry&) = delete;

  enum class What { began, changed, ended, forgotten };
  // Told of every execution, within the call that changed it: note it, work later.
  std::function<void(const ExecutionRecordPtr&, What)> told;
  // A limit of the policy was reached: by an execution's end, or by a call that was refused.
  std::function<void(const ExecutionRecord&, const std::string& limit)> limit_reached;

  // One call of execute_code. When it goes without an end, its client went away or cancelled it.
  class [[nodiscard]] Entry {
   public:
    // `execution` says who asked for what; it waits from now on.
    Entry(ExecutionRegistry& registry, ExecutionRecordPtr execution);
    Entry(const Entry&) = delete;
    ~Entry();
    ExecutionRecord& operator*() const { return *execution_; }
    ExecutionRecord* operator->() const { return execution_.get(); }
    const ExecutionRecordPtr& shared() const { return execution_; }
    // It has its place, and what may be used is settled.
    void start(const std::string& language, const policies::Limits& limits);
    // The first of these counts.
    void end(const jail::Report& report, const journal::Ended& ended);
    void refuse(const Error& error);
    // Answered without a program: it only ended a session.
    void pass();

   private:
    ExecutionRegistry& registry_;
    ExecutionRecordPtr execution_;
  };

  ExecutionRecordPtr find(std::string_view id) const;
  // Those that wait or run, oldest first, then those that ended.
  std::vector<ExecutionRecordPtr> all() const;
  template <class Fn>
  void each_living(Fn fn) const {
    for (const auto& [id, execution] : living_) fn(*execution);
  }
  uint32_t count(Stage stage) const { return stages_[static_cast<size_t>(stage)]; }
  uint32_t count(std::string_view tenant, Stage stage) const;
  const Sums& sums() const { return sums_; }
  const journal::Totals& totals_of(std::string_view tenant) const;
  // By name of the language; those that something ran in.
  const std::map<std::string, Sums, std::less<>>& languages() const { return of_language_; }
  // What it waits for has changed.
  void waits(std::string_view id, std::vector<std::string> approvals);
  // Ends it with outcome `cancelled`, whether it waits or runs. Errors: unavailable when it has ended.
  Result<> cancel(ExecutionRecord& execution);

 private:
  void move(ExecutionRecord& execution, Stage stage);
  void finish(const ExecutionRecordPtr& execution);
  void forget_old();

  Loop& loop_;
  std::map<std::string, ExecutionRecordPtr, std::less<>> living_;
  std::deque<ExecutionRecordPtr> ended_;  // oldest first
  uint32_t stages_[5] = {};
  Sums sums_;
  std::map<std::string, journal::Totals, std::less<>> of_tenant_;
  std::map<std::string, Sums, std::less<>> of_language_;
  std::optional<Deadline> forgetting_;
};

}  // namespace executions
