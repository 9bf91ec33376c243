// Session calls: the calls of jailed code about session logs. Source: the guest protocol's `call`. Used by:
// supervisor/daemon/. Errors: invalid, and those of tenants/sessions.h.
#pragma once
#include "supervisor/upstream/calls/guest_calls.h"

namespace tools {

// checkpoint {step, context?, description?} -> {step, timestamp}, in sessions only; session_log {session?} -> the log
// of a session of the tenant, by default of the caller's session.
void add_session_calls(calls::GuestCalls& calls);

}  // namespace tools
