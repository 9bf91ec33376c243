// The parts of the context ledger: sizes, in bytes and estimated tokens, of text that came into a model's context or
// stayed out of it. Written into the journal at each execution's end.
#pragma once
#include <cstdint>

#include "catalog/catalog.h"
#include "supervisor/mcp/content.h"
#include "supervisor/tenants/workspace.h"

namespace executions {

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

}  // namespace executions
