// Personal data in calls of upstream servers' tools: the vault of the tenant whose policy replaces personal data by
// tokens in results, or restores tokens in arguments. Used by: upstream_call.cc, call_approval.cc, call_question.cc.
// Errors: those of the vault.
#pragma once
#include <string_view>

#include "policies/call_rules.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/result.h"
#include "supervisor/base/task.h"
#include "supervisor/upstream/calls/upstream_call.h"

namespace calls {

// Whether results are tokenised.
bool tokenises(const policies::CallRules& rules);
// The vault of the caller's tenant.
Task<Result<privacy::PiiVaults::VaultPtr>> vault_of(CallEnvironment& environment, const CallContext& context);
// A job: restores tokens in those arguments that the policy's rules name.
Result<> restore_arguments(const policies::CallRules& rules, policies::PiiVault& vault, std::string_view server,
                           std::string_view tool, Json& arguments, WorkMeter& meter);
// Replaces personal data in all texts of `value`, in a job of the tenant, and settles the tokens.
Task<Result<Json>> tokenise_values(CallEnvironment& environment, const CallContext& context, Json value);

}  // namespace calls
