// ExecutionSpan: one call of execute_code as a span of its caller's trace. Source: the execution's record.
// Used by: execution_recording.h, which makes the span before the ExecutionRegistry::Entry. So the span ends after the
// entry, when the record has its outcome, also for a cancelled call. No errors.
#pragma once
#include <optional>

#include "supervisor/executions/execution_registry.h"
#include "supervisor/records/spans/open_span.h"

namespace executions {

class ExecutionSpan {
 public:
  ExecutionSpan(spans::Queue* queue, const TraceContext& caller, ExecutionRecordPtr execution);
  ~ExecutionSpan();

  // The parent of the spans of the program and its calls.
  const TraceContext& context() const { return span_.context(); }
  // waits() begins and goes_on() ends a child span "wait" for the time in queues. A wait that ends within the same turn
  // of the loop is not recorded.
  void waits(Loop& loop);
  void goes_on();

 private:
  spans::Queue* queue_;
  ExecutionRecordPtr execution_;
  spans::OpenSpan span_;
  std::optional<spans::OpenSpan> waiting_;
  std::shared_ptr<bool> waited_;
};

}  // namespace executions
