// SessionLogs: the tasks and checkpoints of each session of a tenant, in sessions/<id>.log of its folder. A log has one
// JSON line for each event and is only appended to. It is read as one document, in the form that clients of
// per-customer workspaces know:
// {session_id, customer_uid, description, started_at, ended_at,
//  tasks: [{task_id, description, code, result, output, timestamp}], state_files: [...],
//  checkpoint: {step, last_task, context, timestamp}}. `description` is the last one of a task or a checkpoint.
// Source: supervisor/executions/session_log.cc. Jails never see this folder. A line that a crash cut is left out.
// A full log is renamed to `<id>~` and replaces the earlier `<id>~`; then a new log begins. The oldest logs of sessions
// that are not open are removed for new ones. Errors: invalid (the id), not_found, exhausted (the disk).
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/path.h"

namespace tenants {

constexpr size_t kMaxSessionBytes = 8 << 20;       // of one log
constexpr size_t kMaxSessionTextBytes = 64 << 10;  // of one text (code, result, output, ...); a longer text is cut
constexpr size_t kMaxSessions = 200;               // logs of one tenant
constexpr uint64_t kMaxSessionsBytes = 256 << 20;  // of all logs of one tenant; checked when a session begins

// 1 to 64 of A-Z a-z 0-9 . _ -, the first no dot. Errors: invalid.
Result<> check_session_id(std::string_view id);

struct SessionTask {
  std::string task_id;      // the execution's id
  std::string description;  // may be empty
  std::string code;
  std::string result;  // JSON text; empty: the task has no result
  std::string output;
  std::string timestamp;                 // "2026-11-21T12:34:56Z", as everywhere here
  std::vector<std::string> state_files;  // files that the task made or changed: "/workspace/state/a.json"
  std::string session_description;       // the session's new description; empty: it does not change
};

struct SessionCheckpoint {
  int64_t step = 0;
  std::string last_task;
  std::string context;
  std::string timestamp;
  std::string session_description;  // as in SessionTask
};

class SessionLogs {
 public:
  // `directory` is sessions/ of the tenant's folder. `customer` is the `customer_uid` of the documents: the name of the
  // tenant or the named workspace.
  SessionLogs(Fd directory, std::string customer) : directory_(std::move(directory)), customer_(std::move(customer)) {}

  // Starts a session, or continues its existing log. The session is open until end(), also after a restart.
  Result<> begin(std::string_view id, std::string_view timestamp);
  Result<> add(std::string_view id, const SessionTask& task);
  Result<> checkpoint(std::string_view id, const SessionCheckpoint& checkpoint);
  Result<> end(std::string_view id, std::string_view timestamp);

  bool is_open(std::string_view id) const;  // true, too, if the disk does not say

  // The document as JSON text. `id` may have a '~' at its end.
  Result<std::string> read(std::string_view id) const;
  // Ids of all logs, sorted; the id of a full log ends with '~'.
  Result<std::vector<std::string>> list() const;

 private:
  Result<> append(std::string_view id, std::string line);
  void make_room(size_t max, uint64_t max_bytes) const;
  Fd directory_;
  std::string customer_;
};

}  // namespace tenants
