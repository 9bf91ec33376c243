#include "supervisor/tools/pii/pii_tools.h"

#include "policies/limits.h"
#include "policies/pii/rules.h"
#include "policies/policy_parts.h"
#include "supervisor/tenants/tenant.h"

namespace tools {
namespace {

using PiiJob = Result<Json>(policies::PiiVault&, const policies::PiiRules&, const Json& arguments, WorkMeter&);

Task<Result<Json>> run_with_vault(privacy::PiiVaults& vaults, Work& work, PiiJob* function,
                                  const tenants::Requester& requester, Json arguments) {
  CO_TRY(const auto vault, co_await vaults.of(requester.tenant->id(), policies::pii_of(*requester.policy).lifetime));
  std::function<Result<Json>(WorkMeter&)> job =
      [vault, policy = requester.policy, function, value = std::make_shared<Json>(std::move(arguments))](
          WorkMeter& meter) { return function(*vault, policies::pii_of(*policy), *value, meter); };
  Work::Owner owner{requester.tenant->name(), policies::limits_of(*requester.policy).standard.json_bytes_per_second};
  CO_TRY(Json answer, co_await work.run(std::move(owner), 0, std::move(job)));
  CO_CHECKED(co_await vault->settle());
  co_return answer;
}

}  // namespace

void add_pii_tools(const OperationRegistry& registry, privacy::PiiVaults& vaults, Work& work) {
  auto with_vault = [&](PiiJob* job) {
    return [&vaults, &work, job](const tenants::Requester& requester, Json arguments) {
      return run_with_vault(vaults, work, job, requester, std::move(arguments));
    };
  };
  registry.add(agent_operation(sanitize_pii_definition(), with_vault(sanitize_pii)));
  registry.add(agent_operation(restore_pii_definition(), with_vault(restore_pii)));
  registry.add(code_operation("tokenize_pii", with_vault(tokenize_pii)));
  registry.add(code_operation("detokenize_pii", with_vault(detokenize_pii)));
}

}  // namespace tools
