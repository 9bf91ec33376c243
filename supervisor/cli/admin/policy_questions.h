// Whether a request would be refused, in its parts: each answered with the rule and the file that decide.
// Source: the flags of `warder policy explain`, a policy and the files that it was read from.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/cli/admin/command.h"
#include "supervisor/cli/admin/policy_store.h"

namespace admin {

// limited: less is given, only in some form, or only for some arguments.
enum class Allowed { yes, limited, no };
std::string_view allowed_name(Allowed allowed);  // "allowed", "limited", "refused"

struct PolicyAnswer {
  std::string about;  // "language shell"
  Allowed allowed = Allowed::no;
  std::string why;
  std::string rule;    // the key that decides: "limits.maximum.memory_bytes"
  std::string file;    // that has it; empty when none can change it
  std::string remedy;  // of an administrator; empty when allowed
};

// Of everything that was asked about, in the order of the table of flags; the tenant first, unless the policy was
// named. Errors: invalid: nothing was asked, or a value is no number, no JSON.
Result<std::vector<PolicyAnswer>> answer_request(const policies::Store& store, const ChosenPolicy& chosen,
                                                 const Given& given);

}  // namespace admin
