#include "supervisor/tools/pii/pii_tools.h"

#include "supervisor/tools/workspace_answers.h"

namespace tools {
namespace {

Task<mcp::ToolResult> run_sanitize(Loop& loop, Result<privacy::PiiUser> user, privacy::PiiVaults& vaults,
                                   Json arguments) {
  if (!user) co_return failure(user.error());
  auto vault = co_await vaults.of(user->tenant, user->rules.lifetime);
  if (!vault) co_return failure(vault.error());
  auto answer = co_await sanitize_pii(loop, **vault, user->rules, arguments);
  co_return answer;
}

Task<mcp::ToolResult> run_restore(Result<privacy::PiiUser> user, privacy::PiiVaults& vaults, Json arguments) {
  if (!user) co_return failure(user.error());
  auto vault = co_await vaults.of(user->tenant, user->rules.lifetime);
  if (!vault) co_return failure(vault.error());
  co_return restore_pii(**vault, user->rules, arguments);
}

Task<Result<Json>> run_tokenize(Loop& loop, privacy::PiiVaults& vaults, const calls::GuestCaller& caller,
                                Json arguments) {
  CO_TRY(policies::PiiVault * vault, co_await vaults.of(caller.tenant.name(), caller.policy.pii.lifetime));
  auto answer = co_await tokenize_pii(loop, *vault, caller.policy.pii, arguments);
  co_return answer;
}

Task<Result<Json>> run_detokenize(privacy::PiiVaults& vaults, const calls::GuestCaller& caller, Json arguments) {
  CO_TRY(policies::PiiVault * vault, co_await vaults.of(caller.tenant.name(), caller.policy.pii.lifetime));
  co_return detokenize_pii(*vault, caller.policy.pii, arguments);
}

}  // namespace

void add_pii_tools(mcp::Server& server, const privacy::PiiUserOf& user_of, privacy::PiiVaults& vaults) {
  server.add_tool(sanitize_pii_definition(), [user_of, &vaults](mcp::RequestContext& context, Json arguments) {
    return run_sanitize(context.loop, user_of(context), vaults, std::move(arguments));
  });
  server.add_tool(restore_pii_definition(), [user_of, &vaults](mcp::RequestContext& context, Json arguments) {
    return run_restore(user_of(context), vaults, std::move(arguments));
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
