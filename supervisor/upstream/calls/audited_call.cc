#include "supervisor/upstream/calls/audited_call.h"

#include <algorithm>
#include <cmath>

#include "supervisor/base/json/json.h"
#include "supervisor/tenants/tenant.h"

namespace calls {

AuditedCall::AuditedCall(journal::Journal& journal, spans::OpenSpan& span, const CallContext& context,
                         const Target& target, std::string action)
    : journal_(journal), span_(span) {
  entry_.tenant = context.tenant->name();
  entry_.uid = context.principal.uid();
  entry_.pid = context.principal.pid();
  if (!context.principal.peer()) entry_.principal = context.principal.name();
  entry_.action = std::move(action);
  entry_.subject = target.server + "." + target.tool;
  if (!context.execution.empty()) shape_["execution"] = context.execution;
}

// Decisions of a person are of the kind `approval`, also the decision "no". Denials by a rule, and approvals without a
// decision, are of the kind `refusal`.
journal::AuditKind AuditedCall::kind() const {
  const std::string verdict = shape_.value("verdict", "");
  const bool answered = verdict == "accepted" || verdict == "declined" || verdict == "dismissed";
  if (shape_.contains("by") || (entry_.action == "question" && answered)) return journal::AuditKind::approval;
  const bool refused = entry_.action == "approval" || verdict == code_name(Code::denied);
  return refused ? journal::AuditKind::refusal : journal::AuditKind::call;
}

AuditedCall::~AuditedCall() {
  entry_.at_ms = journal::now_ms();
  entry_.kind = kind();
  Json same = shape_;
  same.erase("bytes");
  entry_.same = dump_json(same);
  shape_["ms"] = std::llround(ms_since(started_));
  entry_.shape = dump_json(shape_);
  journal_.audit(std::move(entry_));
  if (!span_.recorded()) return;
  const std::string verdict = shape_.value("verdict", "");
  span_.set("warder.verdict", verdict);
  if (shape_.contains("rule")) span_.set("warder.rule", shape_.value("rule", ""));
  // "declined" and "dismissed" are answers of a person, so the span has not failed.
  const std::string_view fine[] = {"ok", "approved", "accepted", "declined", "dismissed"};
  if (std::find(std::begin(fine), std::end(fine), verdict) == std::end(fine))
    span_.fail(verdict == "failed" ? "tool_error" : verdict);
}

void describe_tool_call(spans::OpenSpan& span, const std::string& tool) {
  span.set("mcp.method.name", "tools/call");
  span.set("gen_ai.operation.name", "execute_tool");
  if (!tool.empty()) span.set("gen_ai.tool.name", tool);
}

}  // namespace calls
