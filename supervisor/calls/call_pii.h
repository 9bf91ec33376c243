// Personal data on the way to and from upstream servers' tools: tokens become what they stand for in the arguments that
// the policy names, and nowhere else; what tools answer is tokenised before code or agents see it, where the policy
// says so or restores anything: else a tool that says what it is told would tell it. Each tenant has a vault of its
// own: a token of another's, or one that was made up, stays as it is. Errors: exhausted: the vault is full, or
// restoring would make a text too long; then nothing is sent or shown.
#pragma once
#include <string_view>

#include "policies/policy.h"
#include "supervisor/base/json_value.h"
#include "supervisor/base/loop.h"
#include "supervisor/privacy/pii_vaults.h"

namespace calls {

struct CallPii {
  privacy::PiiVaults& vaults;
  const std::string& tenant;
  const policies::Policy& policy;
};

// What tools answer is tokenised.
bool tokenises(const policies::CallRules& rules);

Task<Result<>> restore_arguments(CallPii pii, std::string_view server, std::string_view tool, Json& arguments);
// Texts and names of members. However much it is, others have their turns.
Task<Result<>> tokenise_values(Loop& loop, CallPii pii, Json& value);
// The same, where the policy wants it of results.
Task<Result<>> tokenise_result(Loop& loop, CallPii pii, Json& value);

}  // namespace calls
