#include "supervisor/upstream/calls/call_pii.h"

#include "policies/pii/rules.h"
#include "policies/policy_parts.h"
#include "supervisor/tenants/tenant.h"

namespace calls {
namespace {

constexpr size_t kMaxRestoredText = 4 << 20;  // bytes

}  // namespace

bool tokenises(const policies::CallRules& rules) {
  return rules.results == policies::CallRules::Results::tokenised || !rules.restore.empty();
}

Task<Result<privacy::PiiVaults::VaultPtr>> vault_of(CallEnvironment& environment, const CallContext& context) {
  return environment.vaults.of(context.tenant->id(), policies::pii_of(*context.policy).lifetime);
}

Result<> restore_arguments(const policies::CallRules& rules, policies::PiiVault& vault, std::string_view server,
                           std::string_view tool, Json& arguments, WorkMeter& meter) {
  if (!arguments.is_object()) return {};
  for (auto argument = arguments.begin(); argument != arguments.end(); ++argument)
    if (rules.restores_into(server, tool, argument.key()))
      CHECKED(policies::restore_value(*argument, vault, meter, kMaxRestoredText));
  return {};
}

Task<Result<Json>> tokenise_values(CallEnvironment& environment, const CallContext& context, Json value) {
  CO_TRY(const auto vault, co_await vault_of(environment, context));
  std::function<Result<Json>(WorkMeter&)> job =
      [vault, policy = context.policy,
       reserved = std::make_shared<Json>(std::move(value))](WorkMeter& meter) -> Result<Json> {
    CHECKED(policies::sanitize_value(*reserved, *policies::pii_of(*policy).detector, *vault, meter));
    return std::move(*reserved);
  };
  Work::Owner owner = owner_of(context);
  CO_TRY(Json clean, co_await environment.work.run(std::move(owner), 0, std::move(job)));
  CO_CHECKED(co_await vault->settle());
  co_return clean;
}

}  // namespace calls
