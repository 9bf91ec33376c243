#include "supervisor/executions/execution_log.h"

#include "policies/policy_parts.h"
#include "supervisor/base/journal_log.h"
#include "supervisor/base/trace_parent.h"
#include "supervisor/records/journal/execution_facts.h"

namespace executions {
namespace {

std::vector<LogField> fields_of(const ExecutionRecord& execution) {
  const bool is_process = execution.pid >= 0;
  return {{"WARDER_EXECUTION_ID", execution.id},
          {"WARDER_TENANT", execution.tenant.account},
          {"WARDER_WORKSPACE", execution.tenant.workspace},
          {"WARDER_LANGUAGE", execution.language},
          {"WARDER_POLICY", execution.policy ? policies::name_of(*execution.policy) : ""},
          {"WARDER_PRINCIPAL", execution.principal},
          {"WARDER_CLIENT_UID", is_process ? std::to_string(execution.uid) : ""},
          {"WARDER_CLIENT_PID", is_process ? std::to_string(execution.pid) : ""},
          {"WARDER_TRACEPARENT", execution.trace},
          {"WARDER_TRACE_ID", execution.trace.empty() ? "" : TraceParent{execution.trace}.trace_id()}};
}

}  // namespace

void log_started(Loop& loop, std::shared_ptr<const ExecutionRecord> execution) {
  if (log_level() < LogLevel::info) return;
  loop.defer([execution = std::move(execution)] {
    log_fields(
        LogLevel::info, kStartedId,
        fmt::format("execution {}: tenant {} {} started", execution->id, execution->tenant.text(), execution->language),
        fields_of(*execution));
  });
}

void log_ended(Loop& loop, std::shared_ptr<const ExecutionRecord> execution) {
  if (log_level() < LogLevel::info) return;
  loop.defer([execution = std::move(execution)] {
    const jail::JailUsage& usage = execution->usage;
    auto fields = fields_of(*execution);
    fields.push_back({"WARDER_OUTCOME", execution->outcome});
    journal::for_each_fact(ended_with(usage), [&fields](const journal::ExecutionFact& fact, auto value) {
      if (!fact.log_field.empty() && fact.is_known(static_cast<int64_t>(value)))
        fields.push_back({fact.log_field, std::to_string(value)});
    });
    log_fields(LogLevel::info, kEndedId,
               fmt::format("execution {}: tenant {} {} {} {:.1f} ms", execution->id, execution->tenant.text(),
                           execution->language, execution->outcome, usage.wall_ms),
               fields);
  });
}

void log_refused(Loop& loop, std::shared_ptr<const ExecutionRecord> execution, const Error& error) {
  if (log_level() < LogLevel::info) return;
  loop.defer([execution = std::move(execution), what = error.what] {
    auto fields = fields_of(*execution);
    fields.push_back({"WARDER_OUTCOME", execution->outcome});
    fields.push_back({"WARDER_RULE", execution->rule});
    log_fields(LogLevel::info, kRefusedId,
               fmt::format("execution {}: tenant {} refused: {}", execution->id, execution->tenant.text(), what),
               fields);
  });
}

}  // namespace executions
