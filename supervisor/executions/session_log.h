// Session log: the record of a session's calls for later readers, one task for each call.
// Source: calls of execute_code with a `session`. Stored by tenants/sessions.h, read as session:///<name>.
// Used by: code_execution.cc, sessions.cc. No errors: a log that cannot be written is a warning in the daemon's log,
// and the call is answered.
#pragma once
#include <string>
#include <string_view>

#include "supervisor/tenants/index/changes.h"

namespace jail {
struct Report;
}

namespace tenants {
class Tenant;
}

namespace executions {

struct SessionLogEntry {
  std::string_view session, execution;
  std::string_view description;          // empty: the comment at the beginning of the code is the description
  std::string_view session_description;  // the new description of the session; empty: no change
  std::string_view code;
  const jail::Report& report;
  const tenants::Changes* changes = nullptr;  // nullptr: not known
  std::string_view result = {};               // the report's value as JSON; empty: not written yet
};
void log_session_task(tenants::Tenant& tenant, const SessionLogEntry& task);
void log_session_begin(tenants::Tenant& tenant, const std::string& session);
void log_session_end(tenants::Tenant& tenant, const std::string& session);

}  // namespace executions
