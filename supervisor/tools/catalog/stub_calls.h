// The call of jailed code for one file below /servers, where the jail does not see it yet.
#pragma once
#include "supervisor/calls/guest_calls.h"
#include "supervisor/discovery/stub_tree.h"

namespace tools {

// The call "stub_file" of jailed code: {path} to {content}. Errors: exhausted, for who asks for many at once.
void add_stub_calls(calls::GuestCalls& calls, discovery::StubTree& tree);

}  // namespace tools
