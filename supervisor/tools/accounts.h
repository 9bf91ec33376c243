// Accounts: what is written down of every call of a tool: an entry of the audit chain, with the shape of the arguments,
// and how many bytes of upstream servers' definitions the client has been told.
#pragma once
#include <cstdint>

#include "catalog/catalog.h"
#include "supervisor/journal/journal.h"
#include "supervisor/mcp/registry.h"
#include "supervisor/tenants/workspace.h"

namespace tools {

// The user data of connections are tenants::Members. The journal must outlive the server.
mcp::CallObserver keep_accounts(journal::Journal& journal);

// What all definitions of the catalogue would fill as the JSON of tools/list: of a large one an estimate, from an even
// sample.
struct DefinitionSize {
  uint64_t bytes = 0, tokens = 0;
};
DefinitionSize definition_size(const catalog::Catalog& catalog);

// Tokens of what a program read of its workspace: the jail tells only how many bytes, so they count as those of the
// largest files that are there now. 4 files are looked into, 2 KiB each.
uint64_t read_tokens_of(const tenants::Workspace& workspace, const tenants::Snapshot& after, uint64_t bytes);
// Tokens of what a model reads of an answer; a picture counts as one of the largest.
uint64_t returned_tokens(const mcp::ToolResult& result);

}  // namespace tools
