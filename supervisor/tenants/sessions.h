// Session logs: what was done in each session of a tenant, in sessions/<id>.log of its folder: one JSON line for each
// event, only ever appended. Read as one document, in the shape that clients of per-customer workspaces know:
// {session_id, customer_uid, description, started_at, ended_at,
//  tasks: [{task_id, description, code, result, output, timestamp}], state_files: [...],
//  checkpoint: {step, last_task, context, timestamp}}. `description` is the last that a task or a checkpoint gave.
// Source: supervisor/tools/session_log.cc. Jails never see this folder. A line that was cut by a crash is left out.
// A full log becomes `<id>~`, in the place of the one before, and a new one begins; the oldest logs make room for
// others. Errors: invalid (the id), not_found, exhausted (the disk).
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/path.h"

namespace tenants {

constexpr size_t kMostSessionBytes = 8 << 20;       // of one log
constexpr size_t kMostSessionTextBytes = 64 << 10;  // of a task's code, result and output each; longer ones are cut
constexpr size_t kMostSessions = 200;               // logs of one tenant
constexpr uint64_t kMostSessionsBytes = 256 << 20;  // of all of them, when another one begins

// 1 to 64 of A-Z a-z 0-9 . _ -, the first no dot. Errors: invalid.
Result<> check_session_id(std::string_view id);

struct SessionTask {
  std::string task_id;      // the execution's
  std::string description;  // may be empty
  std::string code;
  std::string result;  // JSON text; empty: none
  std::string output;
  std::string timestamp;                 // "2026-11-21T12:34:56Z", as everywhere here
  std::vector<std::string> state_files;  // that it made or changed: "/workspace/state/a.json"
  std::string session_description;       // of the session from now on; empty: as before
};

struct SessionCheckpoint {
  int64_t step = 0;
  std::string last_task;
  std::string context;
  std::string timestamp;
  std::string session_description;  // as above
};

class SessionLogs {
 public:
  // `directory` is sessions/ of the tenant's folder. `customer` is who the logs are about: the tenant's name.
  SessionLogs(Fd directory, std::string customer) : directory_(std::move(directory)), customer_(std::move(customer)) {}

  // A log that exists goes on. Until end() the session counts as open, whatever becomes of this process.
  Result<> begin(std::string_view id, std::string_view timestamp);
  Result<> add(std::string_view id, const SessionTask& task);
  Result<> checkpoint(std::string_view id, const SessionCheckpoint& checkpoint);
  Result<> end(std::string_view id, std::string_view timestamp);

  bool is_open(std::string_view id) const;

  // The document as JSON text. `id` may have a '~' at its end.
  Result<std::string> read(std::string_view id) const;
  // Ids, sorted; with '~' those that were full.
  Result<std::vector<std::string>> list() const;

 private:
  Result<> append(std::string_view id, std::string line);
  void make_room(size_t most, uint64_t most_bytes) const;
  Fd directory_;
  std::string customer_;
};

}  // namespace tenants
