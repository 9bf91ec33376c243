// Handle: an execution seen and steered from outside while it runs: what it uses now, its end, its freezing, its
// limits. Made by whoever asks for the execution, given in its Request; filled in by jail/execution.cc while it lives.
// A session's program has one, too; cancelling that ends the session, and of its limits only the wall time changes.
// Errors: unavailable (it does not run, or this machine cannot do that), invalid, naming the limit; internal.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>

#include "policies/limits.h"
#include "supervisor/base/result.h"

namespace jail {

struct LiveUsage {  // a sample, at most some 50 ms old
  double wall_ms = 0, cpu_ms = 0;
  uint64_t memory_bytes = 0;
  uint32_t tasks = 0;
};

struct LimitChange {  // absent: stays as it is
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
  starting,  // no code runs yet: its jail is taken or built
  running,
  frozen,  // its processes stand still, and so do its clocks; not said of one that is held without a cgroup
  over,
};

// What can be done to a running execution.
class Steered {
 public:
  virtual void cancel() = 0;
  virtual Result<> freeze() = 0;
  virtual Result<> thaw() = 0;
  virtual void hold() = 0;
  virtual void release() = 0;
  virtual Result<> change(const LimitChange& change) = 0;
  virtual LiveUsage usage() const = 0;

 protected:
  ~Steered() = default;
};

class Handle {
 public:
  std::function<void()> changed;  // after the phase has

  Phase phase() const { return phase_; }
  // Ends it with outcome `cancelled`, also before it has begun. Nothing when it is over.
  void cancel() {
    cancelled_ = true;
    if (execution_) execution_->cancel();
  }
  bool cancelled() const { return cancelled_; }
  Result<> freeze() { return execution_ ? execution_->freeze() : not_running(); }
  Result<> thaw() { return execution_ ? execution_->thaw() : not_running(); }
  // For whoever makes it wait: its clocks stop, and its processes, where a cgroup holds them; else what CPU time they
  // use meanwhile is taken off its wall time. Once for each release(); it goes on after the last, if nobody froze it.
  void hold() {
    if (execution_) execution_->hold();
  }
  void release() {
    if (execution_) execution_->release();
  }
  Result<> change(const LimitChange& change) { return execution_ ? execution_->change(change) : not_running(); }
  LiveUsage usage() const { return execution_ ? execution_->usage() : last_usage_; }

  // For jail/execution.cc: who it steers from now on; nullptr: nobody.
  void steer(Steered* execution) {
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
  Steered* execution_ = nullptr;
  LiveUsage last_usage_;
  Phase phase_ = Phase::starting;
  bool cancelled_ = false;
};

}  // namespace jail
