// What sessions leave to be read later: a task of their log for each call.
// Source: execute_code with a `session`. Kept by tenants/sessions.h, read as session:///<name>.
#pragma once
#include <string>
#include <string_view>

#include "jail/execution.h"
#include "supervisor/tenants/changes.h"
#include "supervisor/tenants/tenant.h"

namespace executions {

struct SessionLogEntry {
  std::string_view session, execution;
  std::string_view description;          // empty: the comment that the code begins with, if it does
  std::string_view session_description;  // of the session from now on; empty: as before
  std::string_view code;
  const jail::Report& report;
  const tenants::Changes* changes = nullptr;  // nullptr: not known
  std::string_view result = {};               // the report's value as JSON, where that is written already
};
// A log that cannot be written is a line in ours, no reason to withhold the answer.
void log_session_task(tenants::Tenant& tenant, const SessionLogEntry& task);
void log_session_begin(tenants::Tenant& tenant, const std::string& session);
void log_session_end(tenants::Tenant& tenant, const std::string& session);

}  // namespace executions
