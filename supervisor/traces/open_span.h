// OpenSpan: a span whose work is under way. It begins when it is made, and ends when it goes, however that comes: also
// when the task that did the work is cancelled.
// What is set in it leaves the machine: names, numbers and verdicts, of our own or of an administrator's, never code,
// arguments, output, messages, or a name that an agent made up.
#pragma once
#include <string>
#include <string_view>

#include "supervisor/base/clock.h"
#include "supervisor/base/trace_parent.h"
#include "supervisor/traces/queue.h"

namespace traces {

class OpenSpan {
 public:
  // A part of `parent`, or the first of a trace of its own where that is none. Nothing is recorded without a queue, and
  // where the caller's trace is not sampled. The queue must outlive it.
  OpenSpan(Queue* queue, const TraceContext& parent, SpanKind kind, std::string_view name);
  ~OpenSpan();
  OpenSpan(const OpenSpan&) = delete;

  bool recorded() const { return queue_ != nullptr; }
  // What is done within the work belongs to this. Where nothing is recorded: `parent`, as it came.
  const TraceContext& context() const { return context_; }

  // Each key once. At most 256 bytes of a text are kept.
  void set(std::string_view key, Value value);
  void rename(std::string_view name);
  // `why`: one word, also told as error.type.
  void fail(std::string_view why);
  // It goes without being told of.
  void forget() { queue_ = nullptr; }

 private:
  Queue* queue_;
  TraceContext context_;
  Span span_;
  Monotonic::time_point begun_;
};

}  // namespace traces
