// Handle: lets the daemon watch and control a running execution: its usage, its end, freeze and thaw, its limits. The
// code that asks for an execution makes the handle and passes it in the Request; jail/execution/running_execution.cc
// connects it while the execution runs. A program of a session has a handle, too: cancelling it ends the session, and
// only the wall time of its limits can change. Used by: supervisor/executions/execution_registry.h,
// supervisor/upstream/calls/freeze_guard.h. Errors: unavailable (not running, or this machine cannot do that); invalid,
// naming the limit; internal.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>

#include "policies/limits.h"
#include "supervisor/base/result.h"

namespace jail {

struct LiveUsage {  // a sample, at most some 50 ms old
  double wall_ms = 0;
  std::optional<double> cpu_ms;  // empty: not known
  uint64_t memory_bytes = 0;     // 0: not known
  uint32_t tasks = 0;            // 0: not known
};

struct LimitChange {  // an absent value stays as it is
  std::optional<std::chrono::milliseconds> wall;
  std::optional<uint64_t> memory_bytes;
  std::optional<uint32_t> tasks;
  std::optional<double> cpus;
};

inline policies::Limits changed_limits(policies::Limits limits, const LimitChange& change) {
  limits.wall = change.wall.value_or(limits.wall);
  limits.memory_bytes = change.memory_bytes.value_or(limits.memory_bytes);
  limits.tasks = change.tasks.value_or(limits.tasks);
  limits.cpus = change.cpus.value_or(limits.cpus);
  return limits;
}

enum class Phase {
  starting,  // no code runs yet: a jail is taken or built
  running,
  frozen,  // its processes and its clocks are stopped; an execution that is held without a cgroup stays `running`
  over,
};

// ExecutionControl: what a handle can do to a running execution.
class ExecutionControl {
 public:
  virtual void cancel() = 0;
  virtual Result<> freeze() = 0;
  virtual Result<> thaw() = 0;
  virtual void hold() = 0;
  virtual void release() = 0;
  virtual Result<> change(const LimitChange& change) = 0;
  virtual LiveUsage usage() const = 0;

 protected:
  ~ExecutionControl() = default;
};

class Handle {
 public:
  std::function<void()> changed;  // called after the phase changed

  Phase phase() const { return phase_; }
  // Ends the execution with outcome `cancelled`, even before it began. Does nothing after its end.
  void cancel() {
    cancelled_ = true;
    if (execution_) execution_->cancel();
  }
  bool cancelled() const { return cancelled_; }
  Result<> freeze() { return execution_ ? execution_->freeze() : not_running(); }
  Result<> thaw() { return execution_ ? execution_->thaw() : not_running(); }
  // Stops the execution while one of its calls waits for a person. The clocks stop, and so do the processes if a
  // cgroup holds them. Without a cgroup, the CPU time that they use meanwhile counts as wall time. Each hold() needs
  // one release(); after the last release() the execution runs again, unless freeze() stopped it.
  void hold() {
    if (execution_) execution_->hold();
  }
  void release() {
    if (execution_) execution_->release();
  }
  Result<> change(const LimitChange& change) { return execution_ ? execution_->change(change) : not_running(); }
  LiveUsage usage() const { return execution_ ? execution_->usage() : last_usage_; }

  // For jail/execution/running_execution.cc: sets the execution that this handle controls from now on; nullptr: no
  // execution.
  void set_control(ExecutionControl* execution) {
    if (execution_ && !execution) last_usage_ = execution_->usage();
    execution_ = execution;
  }
  void enter(Phase phase) {
    if (phase == phase_) return;
    phase_ = phase;
    if (changed) changed();
  }

 private:
  static Result<> not_running() { return fail(Code::unavailable, "this execution does not run"); }
  ExecutionControl* execution_ = nullptr;
  LiveUsage last_usage_;
  Phase phase_ = Phase::starting;
  bool cancelled_ = false;
};

}  // namespace jail
