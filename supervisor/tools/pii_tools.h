// The tools for personal data: text in, text with tokens out, and back for those whom a policy trusts; the same for
// jailed code; and what hides it in every answer of a tenant whose policy wants that.
// Each tenant has a vault of its own: a token of one means nothing to another.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "policies/pii_rules.h"
#include "policies/pii_tokens.h"
#include "supervisor/base/json_value.h"
#include "supervisor/mcp/registry.h"
#include "supervisor/mcp/server.h"
#include "supervisor/tools/guest_calls.h"
#include "supervisor/tools/pii_vaults.h"

namespace tools {

// Whose request it is and what the policy said when it began.
struct PiiUser {
  std::string tenant;
  policies::PiiRules rules;
  std::shared_ptr<const void> keeps = {};  // what must not end before the request
};
using PiiUserOf = std::function<Result<PiiUser>(const mcp::RequestContext&)>;

// The vaults must outlive the server.
void add_pii_tools(mcp::Server& server, const PiiUserOf& user_of, PiiVaults& vaults);
// tokenize_pii {text} -> {text, tokens}; detokenize_pii {text} -> {text}, denied unless the policy's `restore` allows
// it.
void add_pii_calls(GuestCalls& calls, PiiVaults& vaults, Loop& loop);
// For Server::set_response_filter. Tokens that the vault knows stay as they are.
mcp::ResponseFilterOf pii_response_filter(PiiUserOf user_of, PiiVaults& vaults);

mcp::ToolDefinition sanitize_pii_definition();
mcp::ToolDefinition restore_pii_definition();

// policies::sanitize() with a turn of the loop after every millisecond or so: other clients are served meanwhile. What
// it is given must outlive the task.
Task<Result<policies::Sanitized>> sanitize_in_turns(Loop& loop, std::string_view text,
                                                    const policies::PiiDetector& detector, policies::PiiVault& vault,
                                                    const policies::SanitizeOptions& options);

// A text whose answer would be too large for one reply is refused before it is looked at.
Task<mcp::ToolResult> sanitize_pii(Loop& loop, policies::PiiVault& vault, const policies::PiiRules& rules,
                                   const Json& arguments);
mcp::ToolResult restore_pii(policies::PiiVault& vault, const policies::PiiRules& rules, const Json& arguments);
// For jailed code. Errors: invalid, denied, exhausted.
Task<Result<Json>> tokenize_pii(Loop& loop, policies::PiiVault& vault, const policies::PiiRules& rules,
                                const Json& arguments);
Result<Json> detokenize_pii(policies::PiiVault& vault, const policies::PiiRules& rules, const Json& arguments);

}  // namespace tools
