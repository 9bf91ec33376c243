#include "supervisor/tools/pii/pii_tools.h"

namespace tools {
namespace {

using PiiWork = Task<Result<Json>>(Loop&, policies::PiiVault&, const policies::PiiRules&, const Json& arguments);

Task<Result<Json>> run_with_vault(privacy::PiiVaults& vaults, Loop& loop, PiiWork* work,
                                  const tenants::Requester& requester, Json arguments) {
  const policies::PiiRules& rules = requester.policy->pii;
  CO_TRY(policies::PiiVault * vault, co_await vaults.of(requester.tenant->id(), rules.lifetime));
  auto answer = co_await work(loop, *vault, rules, arguments);
  co_return answer;
}

Task<Result<Json>> restore_in_turn(Loop&, policies::PiiVault& vault, const policies::PiiRules& rules,
                                   const Json& arguments) {
  co_return restore_pii(vault, rules, arguments);
}

Task<Result<Json>> detokenize_in_turn(Loop&, policies::PiiVault& vault, const policies::PiiRules& rules,
                                      const Json& arguments) {
  co_return detokenize_pii(vault, rules, arguments);
}

}  // namespace

void add_pii_tools(const OperationRegistry& registry, privacy::PiiVaults& vaults, Loop& loop) {
  auto with_vault = [&](PiiWork* work) {
    return [&vaults, &loop, work](const tenants::Requester& requester, Json arguments) {
      return run_with_vault(vaults, loop, work, requester, std::move(arguments));
    };
  };
  registry.add(agent_operation(sanitize_pii_definition(), with_vault(sanitize_pii)));
  registry.add(agent_operation(restore_pii_definition(), with_vault(restore_in_turn)));
  registry.add(code_operation("tokenize_pii", with_vault(tokenize_pii)));
  registry.add(code_operation("detokenize_pii", with_vault(detokenize_in_turn)));
}

}  // namespace tools
