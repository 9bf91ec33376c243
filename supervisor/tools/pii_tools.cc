#include "supervisor/tools/pii_tools.h"

#include "supervisor/tools/workspace_answers.h"

namespace tools {
namespace {

// Of a Sanitizer: a short text needs one for each thing that is looked for.
constexpr int kStepsOfATurn = 4;

Task<mcp::ToolResult> run_sanitize(Loop& loop, Result<PiiUser> user, PiiVaults& vaults, Json arguments) {
  if (!user) co_return failure(user.error());
  auto vault = co_await vaults.of(user->tenant, user->rules.lifetime);
  if (!vault) co_return failure(vault.error());
  auto answer = co_await sanitize_pii(loop, **vault, user->rules, arguments);
  co_return answer;
}

Task<mcp::ToolResult> run_restore(Result<PiiUser> user, PiiVaults& vaults, Json arguments) {
  if (!user) co_return failure(user.error());
  auto vault = co_await vaults.of(user->tenant, user->rules.lifetime);
  if (!vault) co_return failure(vault.error());
  co_return restore_pii(**vault, user->rules, arguments);
}

Task<Result<Json>> run_tokenize(Loop& loop, PiiVaults& vaults, const GuestCaller& caller, Json arguments) {
  CO_TRY(policies::PiiVault * vault, co_await vaults.of(caller.tenant.name(), caller.policy.pii.lifetime));
  auto answer = co_await tokenize_pii(loop, *vault, caller.policy.pii, arguments);
  co_return answer;
}

Task<Result<Json>> run_detokenize(PiiVaults& vaults, const GuestCaller& caller, Json arguments) {
  CO_TRY(policies::PiiVault * vault, co_await vaults.of(caller.tenant.name(), caller.policy.pii.lifetime));
  co_return detokenize_pii(*vault, caller.policy.pii, arguments);
}

}  // namespace

Task<Result<policies::Sanitized>> sanitize_in_turns(Loop& loop, std::string_view text,
                                                    const policies::PiiDetector& detector, policies::PiiVault& vault,
                                                    const policies::SanitizeOptions& options) {
  policies::Sanitizer sanitizer(text, detector, vault, options);
  for (;;) {
    // A short text, as most are, is done at once.
    for (int steps = 0; steps < kStepsOfATurn; steps++) {
      const Doing doing(LoopWork::personal_data);
      CO_TRY(const policies::PiiScan::Step step, sanitizer.step());
      if (step == policies::PiiScan::Step::done) co_return sanitizer.take();
    }
    co_await next_turn(loop);
  }
}

void add_pii_tools(mcp::Server& server, const PiiUserOf& user_of, PiiVaults& vaults) {
  server.add_tool(sanitize_pii_definition(), [user_of, &vaults](mcp::RequestContext& context, Json arguments) {
    return run_sanitize(context.loop, user_of(context), vaults, std::move(arguments));
  });
  server.add_tool(restore_pii_definition(), [user_of, &vaults](mcp::RequestContext& context, Json arguments) {
    return run_restore(user_of(context), vaults, std::move(arguments));
  });
}

void add_pii_calls(GuestCalls& calls, PiiVaults& vaults, Loop& loop) {
  calls.add("tokenize_pii", [&vaults, &loop](const GuestCaller& caller, Json arguments) {
    return run_tokenize(loop, vaults, caller, std::move(arguments));
  });
  calls.add("detokenize_pii", [&vaults](const GuestCaller& caller, Json arguments) {
    return run_detokenize(vaults, caller, std::move(arguments));
  });
}

}  // namespace tools
