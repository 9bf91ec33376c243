// The tools for personal data: sanitize_pii replaces it by tokens, restore_pii restores it if the policy allows that.
// Jailed code has calls for both. Source: privacy::PiiVaults; each tenant has its own vault, so a token of one tenant
// has no meaning for another. Used by: supervisor/daemon/. Errors: invalid, denied, exhausted.
#pragma once
#include "policies/pii/rules.h"
#include "policies/pii/tokens.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/work.h"
#include "supervisor/protocol/mcp/registry.h"
#include "supervisor/tenants/privacy/pii_vaults.h"
#include "supervisor/tools/operation.h"

namespace tools {

// Adds sanitize_pii and restore_pii for agents, and two calls of jailed code: tokenize_pii {text} -> {text, tokens};
// detokenize_pii {text} -> {text}, denied unless the policy's `restore` allows it. Vaults and `work` must outlive all
// calls.
void add_pii_tools(const OperationRegistry& registry, privacy::PiiVaults& vaults, Work& work);

mcp::ToolDefinition sanitize_pii_definition();
mcp::ToolDefinition restore_pii_definition();

// Jobs of Work. The tokens must be settled before the answer is used.
// Refuses a text with too large an answer for one reply, before the text is scanned.
Result<Json> sanitize_pii(policies::PiiVault& vault, const policies::PiiRules& rules, const Json& arguments,
                          WorkMeter& meter);
Result<Json> restore_pii(policies::PiiVault& vault, const policies::PiiRules& rules, const Json& arguments,
                         WorkMeter& meter);
// The calls of jailed code. Errors: invalid, denied, exhausted.
Result<Json> tokenize_pii(policies::PiiVault& vault, const policies::PiiRules& rules, const Json& arguments,
                          WorkMeter& meter);
Result<Json> detokenize_pii(policies::PiiVault& vault, const policies::PiiRules& rules, const Json& arguments,
                            WorkMeter& meter);

}  // namespace tools
