#include "supervisor/tools/pii_tools.h"

#include "supervisor/tools/workspace_answers.h"

using nlohmann::json;

namespace tools {
namespace {

using Tool = mcp::ToolResult (*)(policies::PiiVault&, const policies::PiiRules&, const json&);
using Call = Result<json> (*)(policies::PiiVault&, const policies::PiiRules&, const json&);

Task<mcp::ToolResult> run_tool(Tool tool, PiiUser user, PiiVaults& vaults, json arguments) {
  auto vault = vaults.of(user.tenant, user.rules.lifetime);
  if (!vault) co_return failure(vault.error());
  co_return tool(**vault, user.rules, arguments);
}

Task<Result<json>> run_call(Call call, PiiVaults& vaults, const GuestCaller& caller, json arguments) {
  CO_TRY(policies::PiiVault * vault, vaults.of(caller.tenant.name(), caller.policy.pii.lifetime));
  co_return call(*vault, caller.policy.pii, arguments);
}

}  // namespace

Result<policies::PiiVault*> PiiVaults::of(const std::string& tenant, std::chrono::seconds lifetime) {
  auto known = vaults_.find(tenant);
  if (known == vaults_.end()) {
    Made made = make_ ? make_(tenant) : Made(std::make_unique<policies::MemoryVault>());
    if (!made) return tl::unexpected<Error>(std::move(made).error());
    known = vaults_.emplace(tenant, *std::move(made)).first;
  }
  known->second->set_lifetime(lifetime);
  return known->second.get();
}

void add_pii_tools(mcp::Server& server, const PiiUserOf& user_of, PiiVaults& vaults) {
  auto add = [&](mcp::ToolDefinition definition, Tool tool) {
    server.add_tool(std::move(definition), [user_of, &vaults, tool](mcp::RequestContext& context, json arguments) {
      return run_tool(tool, user_of(context), vaults, std::move(arguments));
    });
  };
  add(sanitize_pii_definition(), sanitize_pii);
  add(restore_pii_definition(), restore_pii);
}

void add_pii_calls(GuestCalls& calls, PiiVaults& vaults) {
  auto add = [&](std::string name, Call call) {
    calls.add(std::move(name), [&vaults, call](const GuestCaller& caller, json arguments) {
      return run_call(call, vaults, caller, std::move(arguments));
    });
  };
  add("tokenize_pii", tokenize_pii);
  add("detokenize_pii", detokenize_pii);
}

}  // namespace tools
