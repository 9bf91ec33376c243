// ExecutionRegistry: a record of each execution that waits, runs, or ended lately (in the last 60 s, at most 100), and
// sums over all executions since the daemon started. All data is in memory: an entry costs some microseconds.
// Source: execution_recording.cc, one entry for each call. Used by: supervisor/operations/bus (reads, cancels),
// supervisor/operations/metrics. Errors: only cancel() can fail. An execution that is not known any more is nullptr.
#pragma once
#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "jail/execution/handle.h"
#include "jail/execution/jail_usage.h"
#include "policies/limits.h"
#include "policies/policy_fwd.h"
#include "policies/tenant_id.h"
#include "supervisor/base/clock.h"
#include "supervisor/base/histogram.h"
#include "supervisor/base/loop.h"
#include "supervisor/base/observer_list.h"
#include "supervisor/records/journal/executions.h"

namespace jail {
struct Report;
}

namespace executions {

enum class Stage { waiting, starting, running, frozen, ended };
std::string_view stage_name(Stage stage);

struct ExecutionRecord : std::enable_shared_from_this<ExecutionRecord> {
  std::string id, language;
  std::string workspace;  // direct, read_only, staged; empty: refused before it was known
  tenants::TenantId tenant;
  std::shared_ptr<const policies::Policy> policy;
  bool background = false;   // it continues without its client
  std::string principal;     // of the client: "uid:1000", "token:ci"
  uint32_t uid = 0;          // of the client; -1: it is no process of this machine
  int32_t pid = 0;           // of the client's process when it connected; -1
  int64_t requested_ms = 0;  // since 1970
  std::string trace;         // traceparent of the execution's own span, or of its caller's; empty: no trace
  policies::Limits limits;
  Stage stage = Stage::waiting;
  jail::Handle handle;
  std::vector<std::string> approvals;  // ids of the approvals that it waits for, oldest first
  std::function<void()> withdraw;      // set while it waits for a place: ends the wait

  // Set when the execution has ended. Without a jail (refused, or cancelled before) usage and receipt are empty.
  std::string outcome, message;
  std::string start;  // of the jail: cold, exec, fork
  std::string rule;   // the rule that refused the execution, or the kind of the error
  jail::JailUsage usage;
  std::string receipt;  // a JSON object
  int64_t ended_ms = 0;
  std::optional<std::chrono::microseconds> answered;  // from the request to the answer; absent without a jail

  jail::LiveUsage now() const;
};
// The usage as the journal stores it, in whole microseconds. Outcome and ledger are empty.
journal::Ended ended_with(const jail::JailUsage& usage);
using ExecutionRecordPtr = std::shared_ptr<ExecutionRecord>;

inline constexpr std::array<int64_t, 15> kTimeBoundsUs = {1'000,     2'000,     5'000,      10'000,     20'000,
                                                          50'000,    100'000,   200'000,    500'000,    1'000'000,
                                                          2'000'000, 5'000'000, 10'000'000, 30'000'000, 60'000'000};

// RecentTimes: durations of one kind: quantiles of the newest journal::kNewest, and a histogram of all since the daemon
// started.
class RecentTimes {
 public:
  void add(int64_t us);
  const DurationHistogram<kTimeBoundsUs>& all() const { return all_; }
  const Quantiles& quantiles() const;  // computed only after an add()

 private:
  std::vector<int64_t> times_;
  size_t next_ = 0;
  mutable bool stale_ = false;
  mutable Quantiles quantiles_;
  DurationHistogram<kTimeBoundsUs> all_;
};

struct Sums {  // since the daemon started
  journal::Totals totals;
  std::map<std::string, uint64_t> refused;  // refused calls, by rule, or by kind of error if there is no rule
  std::map<std::string, uint64_t> starts;   // cold, exec, fork
  RecentTimes wall_times, answer_times;
};

class ExecutionRegistry {
 public:
  explicit ExecutionRegistry(Loop& loop) : loop_(loop) {}
  ExecutionRegistry(const ExecutionRegistry&) = delete;

  enum class RegistryEvent { started, changed, ended, forgotten };
  struct Observer {  // its functions must return at once
    // Called for every change of a record, before the changing call returns.
    std::function<void(const ExecutionRecordPtr&, RegistryEvent)> changed;
    // Called when an execution ended at a limit of the policy, or when a call was refused as exhausted.
    std::function<void(const ExecutionRecord&, const std::string& limit)> limit_reached;
  };
  using Observers = ObserverList<Observer>;
  Observers::Place observe(Observer observer) { return observers_.add(std::move(observer)); }

  // The entry of one call of execute_code. If the execution has not ended, the destructor ends it with outcome
  // `cancelled`: the client left or cancelled the call.
  class [[nodiscard]] Entry {
   public:
    // Adds `execution`, which holds tenant, client and policy. Its stage is `waiting`.
    Entry(ExecutionRegistry& registry, ExecutionRecordPtr execution);
    Entry(const Entry&) = delete;
    ~Entry();
    ExecutionRecord& operator*() const { return *execution_; }
    ExecutionRecord* operator->() const { return execution_.get(); }
    const ExecutionRecordPtr& shared() const { return execution_; }
    // The execution has its place, and its limits are decided. Its stage is `starting`.
    void start(const std::string& language, const policies::Limits& limits);
    // Ends the execution with the report of its jail.
    void end(const jail::Report& report, const journal::Ended& ended);
    // Ends the execution with an error. No effect if it has ended.
    void refuse(const Error& error);
    // Ends the execution with this outcome; no sum counts it. No program of its own ran: the call only ended a session,
    // or its branches are executions of their own.
    void pass(std::string outcome);

   private:
    ExecutionRegistry& registry_;
    ExecutionRecordPtr execution_;
  };

  ExecutionRecordPtr find(std::string_view id) const;
  // Waiting and running executions, oldest first, then ended executions, in the order of their ends.
  std::vector<ExecutionRecordPtr> all() const;
  template <class Fn>
  void each_living(Fn fn) const {
    for (const auto& [id, execution] : living_) fn(*execution);
  }
  uint32_t count(Stage stage) const { return stages_[static_cast<size_t>(stage)]; }
  uint32_t count(std::string_view tenant, Stage stage) const;
  const Sums& sums() const { return sums_; }
  const journal::Totals& totals_of(std::string_view tenant) const;
  // By name of the language; only languages of executions that started and ended.
  const std::map<std::string, Sums, std::less<>>& languages() const { return of_language_; }
  // Sets the approvals that the execution waits for.
  void waits(std::string_view id, std::vector<std::string> approvals);
  // Ends a waiting or running execution with outcome `cancelled`. Errors: unavailable: it has ended.
  Result<> cancel(ExecutionRecord& execution);

 private:
  void move(ExecutionRecord& execution, Stage stage);
  void finish(const ExecutionRecordPtr& execution);
  void forget_old();
  void notify(const ExecutionRecordPtr& execution, RegistryEvent subject) const;
  void notify_of_limit(const ExecutionRecord& execution, const std::string& limit) const;

  Loop& loop_;
  Observers observers_;
  std::map<std::string, ExecutionRecordPtr, std::less<>> living_;
  std::deque<ExecutionRecordPtr> ended_;  // oldest first
  uint32_t stages_[5] = {};
  Sums sums_;
  std::map<std::string, journal::Totals, std::less<>> of_tenant_;
  std::map<std::string, Sums, std::less<>> of_language_;
  std::optional<Deadline> forgetting_;
};

}  // namespace executions
