#include "supervisor/executions/session_log.h"

#include <algorithm>

#include "jail/execution/execution.h"
#include "supervisor/base/clock.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/log.h"
#include "supervisor/tenants/sessions.h"
#include "supervisor/tenants/tenant.h"

namespace executions {
namespace {

constexpr size_t kMaxCommentBytes = 200;
constexpr size_t kMaxStateFiles = 100;  // of one task

// The comment in the first line of code: "# Save the state\n..." gives "Save the state". Empty: the code begins without
// a comment.
std::string_view comment_at_begin(std::string_view code) {
  auto trim = [](std::string_view& text, std::string_view marks) {
    const size_t begin = text.find_first_not_of(marks);
    text = begin == text.npos ? std::string_view() : text.substr(begin);
  };
  trim(code, " \t\r\n");
  if (code.starts_with("#!")) {  // the interpreter's line is no comment
    code = code.substr(std::min(code.find('\n'), code.size()));
    trim(code, " \t\r\n");
  }
  if (!code.starts_with('#') && !code.starts_with("//")) return {};
  std::string_view line = code.substr(0, code.find_first_of("\r\n"));
  trim(line, "#/ \t");
  line = line.substr(0, kMaxCommentBytes);
  return line.substr(0, whole_utf8_prefix(line));
}

void complain(const tenants::Tenant& tenant, std::string_view session, const Result<>& done) {
  if (!done) log_warning("tenant {}: log of session {}: {}", tenant.name(), session, done.error().what);
}

}  // namespace

void log_session_task(tenants::Tenant& tenant, const SessionLogEntry& task) {
  tenants::SessionTask entry;
  entry.task_id = task.execution;
  entry.description = task.description.empty() ? comment_at_begin(task.code) : task.description;
  entry.session_description = task.session_description;
  entry.code = task.code;
  if (task.report.value && task.report.value->is_string()) {
    entry.result = task.report.value->get<std::string>();
  } else if (!task.result.empty()) {
    entry.result = task.result;
  } else if (task.report.value) {
    entry.result = dump_json(*task.report.value);
  }
  entry.output = task.report.out.text;
  if (!task.report.traceback.empty()) {
    entry.output += task.report.traceback;
    if (task.report.traceback.find(task.report.error) == std::string::npos) entry.output += task.report.error;
  } else if (!task.report.message.empty()) {
    entry.output += task.report.message;
  }
  entry.timestamp = iso_time_now();
  if (task.changes) {
    for (const auto* list : {&task.changes->created, &task.changes->modified}) {
      for (const std::string& path : list->paths)
        if (entry.state_files.size() < kMaxStateFiles) entry.state_files.push_back("/workspace/" + path);
    }
  }
  complain(tenant, task.session, tenant.sessions().add(task.session, entry));
}

void log_session_begin(tenants::Tenant& tenant, const std::string& session) {
  complain(tenant, session, tenant.sessions().begin(session, iso_time_now()));
}

void log_session_end(tenants::Tenant& tenant, const std::string& session) {
  complain(tenant, session, tenant.sessions().end(session, iso_time_now()));
}

}  // namespace executions
