// Audit of our own tools: each call leaves an entry of the audit chain, with the shape of its arguments. And for each
// client the bytes of upstream tools' definitions that it was given.
#pragma once
#include "supervisor/journal/journal.h"
#include "supervisor/mcp/registry.h"

namespace tools {

// The user data of connections are tenants::Members. The journal must outlive the server.
mcp::CallObserver audit_calls(journal::Journal& journal);

}  // namespace tools
