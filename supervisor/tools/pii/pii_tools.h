// The tools for personal data: sanitize_pii replaces it by tokens, restore_pii restores it if the policy allows that.
// Jailed code has calls for both. Source: privacy::PiiVaults; each tenant has its own vault, so a token of one tenant
// has no meaning for another. Used by: supervisor/daemon/. Errors: invalid, denied, exhausted.
#pragma once
#include "policies/pii/rules.h"
#include "policies/pii/tokens.h"
#include "supervisor/base/json_value.h"
#include "supervisor/mcp/registry.h"
#include "supervisor/privacy/pii_vaults.h"
#include "supervisor/privacy/sanitize_in_turns.h"
#include "supervisor/tools/operation.h"

namespace tools {

// Adds sanitize_pii and restore_pii for agents, and two calls of jailed code: tokenize_pii {text} -> {text, tokens};
// detokenize_pii {text} -> {text}, denied unless the policy's `restore` allows it. Vaults and loop must outlive all
// calls.
void add_pii_tools(const OperationRegistry& registry, privacy::PiiVaults& vaults, Loop& loop);

mcp::ToolDefinition sanitize_pii_definition();
mcp::ToolDefinition restore_pii_definition();

// Refuses a text with too large an answer for one reply, before the text is scanned. All references must outlive
// the task.
Task<Result<Json>> sanitize_pii(Loop& loop, policies::PiiVault& vault, const policies::PiiRules& rules,
                                const Json& arguments);
Result<Json> restore_pii(policies::PiiVault& vault, const policies::PiiRules& rules, const Json& arguments);
// The calls of jailed code. All references must outlive the task. Errors: invalid, denied, exhausted.
Task<Result<Json>> tokenize_pii(Loop& loop, policies::PiiVault& vault, const policies::PiiRules& rules,
                                const Json& arguments);
Result<Json> detokenize_pii(policies::PiiVault& vault, const policies::PiiRules& rules, const Json& arguments);

}  // namespace tools
