// Accounts: what is written down of every call of a tool: an entry of the audit chain, with the shape of the arguments,
// and how many bytes of other servers' definitions the client has been told.
#pragma once
#include <cstdint>

#include "catalog/catalog.h"
#include "supervisor/journal/journal.h"
#include "supervisor/mcp/registry.h"

namespace tools {

// The user data of connections are tenants::Members. The journal must outlive the server.
mcp::CallObserver keep_accounts(journal::Journal& journal);

// What all definitions of the catalogue would fill as the JSON of tools/list: of a large one an estimate, from an even
// sample.
uint64_t definition_bytes(const catalog::Catalog& catalog);

}  // namespace tools
