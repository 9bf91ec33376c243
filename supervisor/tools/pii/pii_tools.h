// The tools for personal data: sanitize_pii replaces it by tokens, restore_pii restores it if the policy allows that.
// Jailed code has calls for both. Source: privacy::PiiVaults; each tenant has its own vault, so a token of one tenant
// has no meaning for another. Used by: supervisor/daemon/. Errors: invalid, denied, exhausted.
#pragma once
#include "policies/pii/rules.h"
#include "policies/pii/tokens.h"
#include "supervisor/base/json_value.h"
#include "supervisor/calls/guest_calls.h"
#include "supervisor/mcp/registry.h"
#include "supervisor/mcp/server.h"
#include "supervisor/privacy/pii_response_filter.h"
#include "supervisor/privacy/pii_vaults.h"
#include "supervisor/privacy/sanitize_in_turns.h"

namespace tools {

// The vaults must outlive the server.
void add_pii_tools(mcp::Server& server, const tenants::RequesterOf& requester_of, privacy::PiiVaults& vaults);
// tokenize_pii {text} -> {text, tokens}; detokenize_pii {text} -> {text}, denied unless the policy's `restore` allows
// it.
void add_pii_calls(calls::GuestCalls& calls, privacy::PiiVaults& vaults, Loop& loop);

mcp::ToolDefinition sanitize_pii_definition();
mcp::ToolDefinition restore_pii_definition();

// Refuses a text with too large an answer for one reply, before the text is scanned. All references must outlive
// the task.
Task<mcp::ToolResult> sanitize_pii(Loop& loop, policies::PiiVault& vault, const policies::PiiRules& rules,
                                   const Json& arguments);
mcp::ToolResult restore_pii(policies::PiiVault& vault, const policies::PiiRules& rules, const Json& arguments);
// The calls of jailed code. All references must outlive the task. Errors: invalid, denied, exhausted.
Task<Result<Json>> tokenize_pii(Loop& loop, policies::PiiVault& vault, const policies::PiiRules& rules,
                                const Json& arguments);
Result<Json> detokenize_pii(policies::PiiVault& vault, const policies::PiiRules& rules, const Json& arguments);

}  // namespace tools
