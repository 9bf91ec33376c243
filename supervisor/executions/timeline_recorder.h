// TimelineRecorder: fills the Timeline. An execution's end adds one to a count; once a second the recorder reads the
// registry and the pool from memory.
// Source: ExecutionRegistry, jail::Pool. Used by: supervisor/daemon (owner), supervisor/operations/bus. Errors: those
// of Timeline::read.
#pragma once
#include "jail/pool/pool.h"
#include "supervisor/base/clock.h"
#include "supervisor/base/loop.h"
#include "supervisor/executions/execution_registry.h"
#include "supervisor/executions/timeline.h"

namespace executions {

class TimelineRecorder {
 public:
  // The loop, the registry and the pool must outlive the recorder.
  TimelineRecorder(Loop& loop, ExecutionRegistry& executions, const jail::Pool& pool);
  TimelineRecorder(const TimelineRecorder&) = delete;

  Result<TimelineRange> read(const Timeline::Query& request) const;

 private:
  void close_second();
  void wait_for_second();
  TimelineState inspect() const;

  Loop& loop_;
  ExecutionRegistry& executions_;
  const jail::Pool& pool_;
  Timeline timeline_;
  mutable int64_t epoch_ = 0;  // the second 0 of the monotonic clock, in seconds since 1970
  ExecutionRegistry::Observers::Place observes_;
  Deadline second_;
};

// The living executions, by their number, memory and CPU time; `pool` adds its jails.
TimelineState timeline_state(const ExecutionRegistry& executions, const jail::Pool* pool);

}  // namespace executions
