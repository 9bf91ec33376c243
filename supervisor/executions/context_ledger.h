// Context ledger: measures text, in bytes and estimated tokens, that came into a model's context or stayed out.
// Source: the catalog, the workspace and the answer of an execution. Used by: code_execution.cc, which writes the
// numbers into the journal at each execution's end. No errors: unreadable files are left out.
#pragma once
#include <cstdint>

#include "catalog/catalog.h"
#include "supervisor/protocol/mcp/content.h"
#include "supervisor/tenants/workspace.h"

namespace executions {

// The size of the definitions of all tools that can be called, as the JSON of tools/list. For more than 256 tools the
// bytes are an estimate from an even sample.
struct DefinitionSize {
  uint64_t bytes = 0, tokens = 0;
};
DefinitionSize definition_size(const catalog::Catalog& catalog);

// Tokens of the `bytes` that a program read from its workspace. The jail reports only the number of bytes, so the
// tokens are estimated from samples of `files` (sizes and paths), 2 KiB each.
uint64_t read_tokens_of(const tenants::Workspace& workspace, const std::vector<std::pair<uint64_t, std::string>>& files,
                        uint64_t bytes);
// Tokens of an answer for the model. Each picture counts as many tokens as the largest picture.
uint64_t returned_tokens(const mcp::ToolResult& result);

}  // namespace executions
