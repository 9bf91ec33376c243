// ExecutionSpan: one call of execute_code as a span of its caller's trace. Source: execute_code.cc; made before the
// execution's ExecutionRegistry::Entry, so that it ends after it, when the execution says how it went, however that
// was.
#pragma once
#include <optional>

#include "supervisor/executions/execution_registry.h"
#include "supervisor/traces/open_span.h"

namespace executions {

class ExecutionSpan {
 public:
  ExecutionSpan(traces::Queue* queue, const TraceContext& caller, ExecutionRecordPtr execution);
  ~ExecutionSpan();

  // What the program and its calls belong to.
  const TraceContext& context() const { return span_.context(); }
  // Beginning to wait for what others have, and having it: a span within this one, if it took a turn of the loop.
  void waits(Loop& loop);
  void goes_on();

 private:
  traces::Queue* queue_;
  ExecutionRecordPtr execution_;
  traces::OpenSpan span_;
  std::optional<traces::OpenSpan> waiting_;
  std::shared_ptr<bool> waited_;
};

}  // namespace executions
