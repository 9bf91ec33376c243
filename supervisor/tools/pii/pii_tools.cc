#include "supervisor/tools/pii/pii_tools.h"

#include "supervisor/tools/workspace_answers.h"

namespace tools {
namespace {

Task<mcp::ToolResult> run_sanitize(Loop& loop, Result<tenants::Requester> requester, privacy::PiiVaults& vaults,
                                   Json arguments) {
  if (!requester) co_return failure(requester.error());
  const policies::PiiRules& rules = requester->policy->pii;
  auto vault = co_await vaults.of(requester->tenant->id(), rules.lifetime);
  if (!vault) co_return failure(vault.error());
  auto answer = co_await sanitize_pii(loop, **vault, rules, arguments);
  co_return answer;
}

Task<mcp::ToolResult> run_restore(Result<tenants::Requester> requester, privacy::PiiVaults& vaults, Json arguments) {
  if (!requester) co_return failure(requester.error());
  const policies::PiiRules& rules = requester->policy->pii;
  auto vault = co_await vaults.of(requester->tenant->id(), rules.lifetime);
  if (!vault) co_return failure(vault.error());
  co_return restore_pii(**vault, rules, arguments);
}

Task<Result<Json>> run_tokenize(Loop& loop, privacy::PiiVaults& vaults, const calls::GuestCaller& caller,
                                Json arguments) {
  CO_TRY(policies::PiiVault * vault, co_await vaults.of(caller.tenant->id(), caller.policy->pii.lifetime));
  auto answer = co_await tokenize_pii(loop, *vault, caller.policy->pii, arguments);
  co_return answer;
}

Task<Result<Json>> run_detokenize(privacy::PiiVaults& vaults, const calls::GuestCaller& caller, Json arguments) {
  CO_TRY(policies::PiiVault * vault, co_await vaults.of(caller.tenant->id(), caller.policy->pii.lifetime));
  co_return detokenize_pii(*vault, caller.policy->pii, arguments);
}

}  // namespace

void add_pii_tools(mcp::Server& server, const tenants::RequesterOf& requester_of, privacy::PiiVaults& vaults) {
  server.add_tool(sanitize_pii_definition(), [requester_of, &vaults](mcp::RequestContext& context, Json arguments) {
    return run_sanitize(context.loop, requester_of(context), vaults, std::move(arguments));
  });
  server.add_tool(restore_pii_definition(), [requester_of, &vaults](mcp::RequestContext& context, Json arguments) {
    return run_restore(requester_of(context), vaults, std::move(arguments));
  });
}

void add_pii_calls(calls::GuestCalls& calls, privacy::PiiVaults& vaults, Loop& loop) {
  calls.add("tokenize_pii", [&vaults, &loop](const calls::GuestCaller& caller, Json arguments) {
    return run_tokenize(loop, vaults, caller, std::move(arguments));
  });
  calls.add("detokenize_pii", [&vaults](const calls::GuestCaller& caller, Json arguments) {
    return run_detokenize(vaults, caller, std::move(arguments));
  });
}

}  // namespace tools
