// PolicyAnswer: whether a policy allows one part of a request, with the rule and the file that decide.
// Source: the flags of `warder policy explain`, a policy, and the files of the policy. Used by: policy_commands.cc.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/programs/cli/admin/command.h"
#include "supervisor/programs/cli/admin/policies/policy_store.h"

namespace admin {

// limited: the policy gives less than was asked for, or allows it only in some form or for some arguments.
enum class Permission { yes, limited, no };
std::string_view allowed_name(Permission allowed);  // "allowed", "limited", "refused"

struct PolicyAnswer {
  std::string about;  // "language shell"
  Permission allowed = Permission::no;
  std::string why;
  std::string rule;    // the key that decides: "limits.maximum.memory_bytes"
  std::string file;    // the file with that key; empty: no file sets it
  std::string remedy;  // for the administrator; empty when allowed
};

// One answer for each flag of `command`, in the order of the command's table of flags. The first answer is about the
// tenant, unless the policy was named. Errors: invalid: there is no answer, or a value is no number or no JSON.
Result<std::vector<PolicyAnswer>> answer_request(const policies::Store& store, const ChosenPolicy& chosen,
                                                 const ParsedCommand& command);

}  // namespace admin
