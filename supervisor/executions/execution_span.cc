#include "supervisor/executions/execution_span.h"

#include "policies/policy_parts.h"
#include "supervisor/records/journal/execution_facts.h"
#include "supervisor/upstream/calls/audited_call.h"

namespace executions {

ExecutionSpan::ExecutionSpan(spans::Queue* queue, const TraceContext& caller, ExecutionRecordPtr execution)
    : queue_(queue),
      execution_(std::move(execution)),
      span_(queue, caller, spans::SpanKind::server, "tools/call execute_code") {}

ExecutionSpan::~ExecutionSpan() {
  goes_on();
  if (!span_.recorded()) return;
  const ExecutionRecord& execution = *execution_;
  calls::describe_tool_call(span_, "execute_code");
  span_.set("warder.execution.id", execution.id);
  span_.set("warder.tenant", execution.tenant.account);
  if (execution.policy) span_.set("warder.policy", policies::name_of(*execution.policy));
  if (!execution.language.empty()) span_.set("warder.language", execution.language);
  span_.set("warder.outcome", execution.outcome);
  if (!execution.start.empty()) span_.set("warder.start", execution.start);
  if (execution.usage.wall_ms > 0) {
    journal::for_each_fact(ended_with(execution.usage), [this](const journal::ExecutionFact& fact, auto value) {
      const auto number = static_cast<int64_t>(value);
      if (fact.span_key.empty() || !fact.is_known(number)) return;
      if (fact.is_time()) {
        span_.set(fact.span_key, static_cast<double>(number) / 1000);
      } else {
        span_.set(fact.span_key, number);
      }
    });
  }
  if (!execution.rule.empty()) span_.set("warder.rule", execution.rule);
  if (execution.outcome != "ok") span_.fail(execution.outcome);
}

void ExecutionSpan::waits(Loop& loop) {
  if (!span_.recorded()) return;
  waited_ = std::make_shared<bool>(false);
  loop.defer([weak = std::weak_ptr(waited_)] {
    if (auto waited = weak.lock()) *waited = true;
  });
  waiting_.emplace(queue_, span_.context(), spans::SpanKind::internal, "wait");
}

void ExecutionSpan::goes_on() {
  if (waiting_ && !*waited_) waiting_->forget();
  waiting_.reset();
}

}  // namespace executions
