// Policy store of the commands: the policies of this machine, read from their files as warderd reads them, without a
// daemon. The policy is chosen by --policy, by --token, by --subject and --claim, or by --user and --unit; otherwise it
// is the calling user's policy.
// Used by: the `warder policy` commands, `warder doctor`, `warder complete`.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "policies/store.h"
#include "supervisor/programs/cli/admin/command.h"

namespace admin {

// The folders of --policies, or else the installed folders that exist.
std::vector<std::string> policy_folders(const ParsedCommand& command);
// Errors: not_found without a folder; internal, with every problem of every file, one a line.
Result<policies::Store> load_policies(const ParsedCommand& command);

struct ChosenPolicy {
  std::string tenant;                              // empty: the policy was named, or no rule fits
  std::shared_ptr<const policies::Policy> policy;  // nullptr: no rule fits, so warderd refuses the connection
  std::string rule, file;                          // the rule of tenants.json that decided, "rules[1]", and its file
};
// Errors: not_found, no policy or user of that name; invalid: --claim has another form than claims have.
Result<ChosenPolicy> choose_policy(const policies::Store& store, const ParsedCommand& command);

}  // namespace admin
