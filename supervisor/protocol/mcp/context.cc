#include "supervisor/protocol/mcp/context.h"

#include "supervisor/base/json/json.h"
#include "supervisor/protocol/mcp/response_filter.h"
#include "supervisor/protocol/mcp/running_call.h"
#include "supervisor/protocol/mcp/task_calls.h"

namespace mcp {

Result<> RequestContext::detach(ToolResult now) {
  if (!host_) return fail(Code::unavailable, "this request cannot go on without its client");
  return (*host_)->detach(*call_, std::move(now));
}

bool RequestContext::can_become_task() const {
  return host_ && (era() == Era::modern ? declares_tasks(*client) : call_->requested_ttl_ms.has_value());
}

Task<Result<>> RequestContext::become_task() {
  if (!can_become_task()) co_return fail(Code::unavailable, "the client does not know tasks");
  auto done = co_await (*host_)->become_task(*call_);
  co_return done;
}

namespace {
constexpr size_t kMessageBytes = 1000;  // clients show one line
}

void RequestContext::progress(double value, std::optional<double> total, std::string_view message) {
  if (!wants_progress() || !std::isfinite(value) || value <= last_progress_) return;
  last_progress_ = value;
  std::string members = R"("progressToken":)" + progress_token_->wire;
  append_key(members, "progress");
  members += dump_json(Json(value));
  if (total && std::isfinite(*total)) {
    append_key(members, "total");
    members += dump_json(Json(*total));
  }
  if (!message.empty() && !response_filter && has_progress_message(version)) {
    message = message.substr(0, kMessageBytes);
    append_key(members, "message");
    append_json_string(members, message.substr(0, whole_utf8_prefix(message)));
  }
  if (!task.empty()) {
    append_key(members, "_meta");
    members += dump_json(Json{{std::string(meta_key::kRelatedTask), {{"taskId", task}}}});
  }
  send_(notification_line("notifications/progress", members));
}

Task<> RequestContext::log(Severity severity, Json data, std::string logger) {
  if (!send_ || !log_level_ || severity < *log_level_) co_return;
  auto hidden = co_await redact_answer(response_filter, data);
  if (!hidden || !send_) co_return;
  std::string members;
  append_key(members, "level");
  append_json_string(members, severity_name(severity));
  if (!logger.empty()) {
    append_key(members, "logger");
    append_json_string(members, logger);
  }
  append_key(members, "data");
  members += dump_json(data);
  send_(notification_line("notifications/message", members));
}

}  // namespace mcp
