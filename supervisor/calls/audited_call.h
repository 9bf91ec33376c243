// A call of another server's tool, and what each leaves: a line of the audit chain, and what of it its span tells.
// Made by upstream_call.cc for every call, and for every question about one by call_approval.cc.
#pragma once
#include <string>
#include <string_view>

#include "supervisor/base/clock.h"
#include "supervisor/base/json_value.h"
#include "supervisor/calls/on_behalf.h"
#include "supervisor/journal/journal.h"
#include "supervisor/traces/open_span.h"

namespace calls {

struct Target {
  std::string server, tool;
};

// One line, however it ends: also when whoever waited for it goes away. It is written when this is destroyed.
class AuditedCall {
 public:
  AuditedCall(journal::Journal& journal, traces::OpenSpan& span, const Who& who, const Target& target,
              std::string action);
  ~AuditedCall();
  AuditedCall(const AuditedCall&) = delete;

  // Sizes, names and verdicts, never a value of the call's.
  void set(const char* key, Json value) { shape_[key] = std::move(value); }

 private:
  journal::AuditKind kind() const;
  journal::Journal& journal_;
  traces::OpenSpan& span_;
  journal::AuditEntry entry_;
  Json shape_;
  Monotonic::time_point begun_ = Monotonic::now();
};

// As OpenTelemetry's conventions for MCP have it. `tool`: one that is known, not only asked for; empty: it is not.
void describe_tool_call(traces::OpenSpan& span, const std::string& tool);

}  // namespace calls
