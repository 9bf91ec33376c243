// AuditedCall: writes one line of the audit chain for a call of an upstream server's tool, and sets the attributes of
// the call's span.
// Used by: upstream_call.cc for each call, call_approval.cc for each approval, call_question.cc for each question,
// execution_span.cc (describe_tool_call()). No errors.
#pragma once
#include <string>
#include <string_view>

#include "supervisor/base/clock.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/records/journal/journal.h"
#include "supervisor/records/spans/open_span.h"
#include "supervisor/upstream/calls/call_context.h"

namespace calls {

struct Target {
  std::string server, tool;
};

// The destructor writes the line, so a cancelled call has a line, too.
class AuditedCall {
 public:
  AuditedCall(journal::Journal& journal, spans::OpenSpan& span, const CallContext& context, const Target& target,
              std::string action);
  ~AuditedCall();
  AuditedCall(const AuditedCall&) = delete;

  // Adds a size, a name or a verdict to the line; never a value from the call.
  void set(const char* key, Json value) { shape_[key] = std::move(value); }

 private:
  journal::AuditKind kind() const;
  journal::Journal& journal_;
  spans::OpenSpan& span_;
  journal::AuditEntry entry_;
  Json shape_;
  Monotonic::time_point started_ = Monotonic::now();
};

// Sets the attributes that OpenTelemetry's conventions for MCP define. `tool`: a tool that exists; empty: unknown, as a
// name that a caller chose must not leave the machine (open_span.h).
void describe_tool_call(spans::OpenSpan& span, const std::string& tool);

}  // namespace calls
