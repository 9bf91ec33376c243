// CallPii: personal data in the calls of upstream servers' tools. Tokens are restored in the arguments that the policy
// names, and in no other text. Results are tokenised before code or agents see them, if the policy says so, or if it
// restores any arguments: else a tool that repeats its arguments would reveal the data. Each tenant has its own vault:
// a token of another tenant, or a forged token, stays as it is. Source: the `calls` object of the policy. Used by:
// upstream_call.cc, call_approval.cc, call_question.cc. Errors: exhausted: the vault is full, or a restored text would
// have more than 4 MiB; then no text is sent or shown.
#pragma once
#include <string_view>

#include "policies/policy.h"
#include "supervisor/base/json_value.h"
#include "supervisor/base/loop.h"
#include "supervisor/privacy/pii_vaults.h"

namespace calls {

struct CallPii {
  privacy::PiiVaults& vaults;
  const tenants::TenantId& tenant;
  const policies::Policy& policy;
};

// Whether the results of tools are tokenised.
bool tokenises(const policies::CallRules& rules);

Task<Result<>> restore_arguments(CallPii pii, std::string_view server, std::string_view tool, Json& arguments);
// Tokenises all texts and member names in `value`. Gives up the loop's turn after about 1 ms, so that other clients are
// served. All arguments must outlive the task.
Task<Result<>> tokenise_values(Loop& loop, CallPii pii, Json& value);
// Like tokenise_values(), if tokenises() is true; else leaves `value` unchanged.
Task<Result<>> tokenise_result(Loop& loop, CallPii pii, Json& value);

}  // namespace calls
