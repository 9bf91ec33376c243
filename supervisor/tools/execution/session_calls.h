// The calls of jailed code that concern its session's log: checkpoint and session_log.
#pragma once
#include "supervisor/calls/guest_calls.h"

namespace tools {

// checkpoint {step, context?, description?}, in sessions only; session_log {session?} -> the document of one of the
// tenant's sessions.
void add_session_calls(calls::GuestCalls& calls);

}  // namespace tools
