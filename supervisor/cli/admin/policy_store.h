// The policies of this machine as the commands see them: read as warderd reads them, no daemon asked. Whose policy is
// meant: --policy, --user and --unit, else that of whoever asks.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "policies/store.h"
#include "supervisor/cli/admin/command.h"

namespace admin {

// --policies, else those installed that are there.
std::vector<std::string> policy_folders(const Given& given);
// Errors: not_found without a folder; internal, with every problem of every file, one a line.
Result<policies::Store> load_policies(const Given& given);

struct ChosenPolicy {
  std::string tenant;                              // empty: the policy was named, not found by who asks
  std::shared_ptr<const policies::Policy> policy;  // nullptr: no rule fits, nobody is let in
  std::string rule, file;                          // of tenants.json, that decided: "rules[1]"
};
// Errors: not_found, no policy or user of that name.
Result<ChosenPolicy> choose_policy(const policies::Store& store, const Given& given);

}  // namespace admin
