// OpenSpan: the span of running work. It begins with the constructor and ends with the destructor, also when
// the task of the work is cancelled.
// Its attributes leave the machine: only names, numbers and verdicts of the daemon or an administrator, never code,
// arguments, output, messages, or a name that an agent chose.
// Used by: supervisor/tools/. The ended span goes to queue.h.
#pragma once
#include <string>
#include <string_view>

#include "supervisor/base/clock.h"
#include "supervisor/base/trace_parent.h"
#include "supervisor/records/spans/queue.h"

namespace spans {

class OpenSpan {
 public:
  // Begins a child span of `parent`; if `parent` is empty, the first span of a new trace. The span is not recorded
  // without a queue, or if the caller's trace is not sampled. The queue must outlive the span.
  OpenSpan(Queue* queue, const TraceContext& parent, SpanKind kind, std::string_view name);
  ~OpenSpan();
  OpenSpan(const OpenSpan&) = delete;

  bool recorded() const { return queue_ != nullptr; }
  // The parent for spans within this work. If the span is not recorded: `parent`, unchanged.
  const TraceContext& context() const { return context_; }

  // Sets an attribute. Each key may be set once. A text is cut to 256 bytes.
  void set(std::string_view key, Value value);
  void rename(std::string_view name);
  // Marks the span as failed. `why`: one word, also the attribute error.type.
  void fail(std::string_view why);
  // Drops the span: the destructor does not record it.
  void forget() { queue_ = nullptr; }

 private:
  Queue* queue_;
  TraceContext context_;
  Span span_;
  Monotonic::time_point started_;
};

}  // namespace spans
