// Call audit: an observer of all calls of Warder's own tools. It writes an entry of the audit chain for each call, with
// the shape of the arguments. It counts, for each connection, the bytes of upstream tools' definitions in the answers.
// Source: tools/call of agents. Used by: supervisor/daemon/.
#pragma once
#include "supervisor/protocol/mcp/registry.h"
#include "supervisor/records/journal/journal.h"

namespace tools {

// The user data of connections are tenants::Members. The journal must outlive the server.
mcp::CallObserver audit_calls(journal::Journal& journal);

}  // namespace tools
