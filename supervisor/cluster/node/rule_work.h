// RuleWork: the RuleStore of warder-node on a thread of its own, as its functions wait for the disk. Jobs run one after
// the other. Used by: trust_keeper.h, rule_keeper.h. Errors of start(): those of WorkerThread.
#pragma once
#include <functional>
#include <memory>
#include <utility>

#include "supervisor/base/worker_thread.h"
#include "supervisor/cluster/trust/rule_store.h"

namespace cluster {

class RuleWork {
 public:
  using Job = std::function<Result<>(RuleStore& rules)>;
  // The loop must outlive the object.
  static Result<std::unique_ptr<RuleWork>> start(Loop& loop, RuleStore rules) {
    TRY(auto thread, WorkerThread::start(loop));
    return std::unique_ptr<RuleWork>(new RuleWork(std::move(rules), std::move(thread)));
  }
  // Runs `job` on the thread. A cancelled caller's job may run to its end, so it owns its data besides the
  // rules.
  Task<Result<>> run(Job job) {
    WorkerThread::Job bound = [this, job = std::move(job)] { return job(rules_); };
    co_return co_await thread_->run(std::move(bound));
  }

 private:
  RuleWork(RuleStore rules, std::unique_ptr<WorkerThread> thread)
      : rules_(std::move(rules)), thread_(std::move(thread)) {}
  RuleStore rules_;                       // of the thread
  std::unique_ptr<WorkerThread> thread_;  // behind the rules: its job ends before they do
};

}  // namespace cluster
