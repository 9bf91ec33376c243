#include "supervisor/tools/session_log.h"

#include <algorithm>
#include <ctime>

#include "supervisor/base/fields.h"
#include "supervisor/base/json.h"
#include "supervisor/base/json_value.h"
#include "supervisor/base/log.h"
#include "supervisor/tools/workspace_answers.h"

namespace tools {
namespace {

constexpr size_t kMostContextBytes = 16 << 10;
constexpr size_t kMostCommentBytes = 200;
constexpr size_t kMostStateFiles = 100;  // of one task

std::string now() { return iso_time(static_cast<int64_t>(std::time(nullptr)) * 1'000'000'000); }

// "# Save the state\n..." says what it is for. Empty where code begins otherwise.
std::string_view comment_at_begin(std::string_view code) {
  auto trim = [](std::string_view& text, std::string_view marks) {
    const size_t begin = text.find_first_not_of(marks);
    text = begin == text.npos ? std::string_view() : text.substr(begin);
  };
  trim(code, " \t\r\n");
  if (code.starts_with("#!")) {  // which program it is for
    code = code.substr(std::min(code.find('\n'), code.size()));
    trim(code, " \t\r\n");
  }
  if (!code.starts_with('#') && !code.starts_with("//")) return {};
  std::string_view line = code.substr(0, code.find_first_of("\r\n"));
  trim(line, "#/ \t");
  line = line.substr(0, kMostCommentBytes);
  return line.substr(0, whole_utf8_prefix(line));
}

void complain(const tenants::Tenant& tenant, std::string_view session, const Result<>& done) {
  if (!done) log_warning("tenant {}: log of session {}: {}", tenant.name(), session, done.error().what);
}

Result<Json> set_checkpoint(const GuestCaller& caller, const Json& arguments) {
  if (caller.session.empty())
    return fail(Code::invalid, "a checkpoint belongs to a session, and this execution has none",
                "ask for the execution with a `session`");
  Fields in(arguments, "checkpoint");
  tenants::SessionCheckpoint checkpoint;
  TRY(checkpoint.step, in.integer("step", -1'000'000'000, 1'000'000'000));
  TRY(checkpoint.context, in.string_or("context", "", kMostContextBytes));
  TRY(checkpoint.session_description, in.string_or("description", "", kMostContextBytes));
  CHECKED(in.done());
  checkpoint.last_task = caller.execution;
  checkpoint.timestamp = now();
  CHECKED(caller.tenant.sessions().checkpoint(caller.session, checkpoint));
  return Json{{"step", checkpoint.step}, {"timestamp", checkpoint.timestamp}};
}

Result<Json> read_log(const GuestCaller& caller, const Json& arguments) {
  Fields in(arguments, "session_log");
  TRY(std::string session, in.string_or("session", std::string(caller.session), 65));
  CHECKED(in.done());
  TRY(std::string text, caller.tenant.sessions().read(session));
  return parse_json(text);
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
  } else if (!task.report.message.empty()) {
    entry.output += task.report.message;
  }
  entry.timestamp = now();
  if (task.changes) {
    for (const auto* list : {&task.changes->created, &task.changes->modified}) {
      for (const std::string& path : list->paths)
        if (entry.state_files.size() < kMostStateFiles) entry.state_files.push_back("/workspace/" + path);
    }
  }
  complain(tenant, task.session, tenant.sessions().add(task.session, entry));
}

void log_session_begin(tenants::Tenant& tenant, const std::string& session) {
  complain(tenant, session, tenant.sessions().begin(session, now()));
}

void log_session_end(tenants::Tenant& tenant, const std::string& session) {
  complain(tenant, session, tenant.sessions().end(session, now()));
}

void add_session_calls(GuestCalls& calls) {
  calls.add("checkpoint", [](const GuestCaller& caller, Json arguments) -> Task<Result<Json>> {
    co_return set_checkpoint(caller, arguments);
  });
  calls.add("session_log", [](const GuestCaller& caller, Json arguments) -> Task<Result<Json>> {
    co_return read_log(caller, arguments);
  });
}

}  // namespace tools
