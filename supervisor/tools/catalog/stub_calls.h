// The call of jailed code for one file below /servers that its jail does not have yet.
#pragma once
#include "supervisor/calls/guest_calls.h"
#include "supervisor/discovery/stub_tree.h"

namespace tools {

// Adds the call stub_file {path} -> {content}. Errors: invalid; not_found; exhausted: more than 4 files of one tenant
// are being made.
void add_stub_calls(calls::GuestCalls& calls, discovery::StubTree& tree);

}  // namespace tools
