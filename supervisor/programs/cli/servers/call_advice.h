// CallAdvice: whether the policies allow calls of a server's tools, and the rule that would.
// Source: the policies in the folders of --policies, of the daemon on the bus, or of the configuration, in this order.
// Used by: add.cc, list.cc.
// Errors: not_found: no policies, or none of that name; internal: they have mistakes; those of the file system.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "supervisor/programs/cli/admin/policies/policy_store.h"

namespace admin {

struct CallAdvice {
  std::string policy;
  size_t allowed = 0, requested = 0, refused = 0;  // tools; a rule with a condition counts as it is without arguments
  std::string decides;                             // the first key that refuses or asks: "calls.otherwise"
  std::string file;                                // the file with that key; empty: no file sets it
};

// One for each policy that tenants have: those of tenants.json, or the standard policy. Or of the flags --policy.
Result<std::vector<CallAdvice>> advice_for(const ParsedCommand& command, const std::string& server,
                                           const std::vector<std::string>& tools);
// The rule as JSON: {"name":"server-files","tools":["files.*"],"verdict":"allow"}.
Json call_rule(const std::string& server, const std::string& verdict);
struct WrittenRule {
  std::string file;
  std::optional<std::string> before;  // its text; nullopt: the file is new
  std::string hides;                  // the shipped file that a new one is a copy of, and which is not read any more
};
// Writes that rule as the first one of each such policy that decides otherwise: into the policy's own file, or into a
// copy of a shipped policy in the last folder, which masks it. Nothing stays written if the policies have a mistake
// then. Errors: invalid: the daemon on the bus reads other folders.
Result<std::vector<WrittenRule>> write_call_rule(const ParsedCommand& command, const std::string& server,
                                                 const std::vector<std::string>& tools, const std::string& verdict);
// The files are as before. Errors: those of the file system.
Result<> undo_call_rule(const std::vector<WrittenRule>& written);
// Removes the rules of that name that write_call_rule() has written, from files of the last folder. A copy of a shipped
// policy that has no other change is removed whole: the shipped file counts again.
struct RemovedRule {
  std::string file;
  std::string displayed;  // the shipped file that counts again; empty: `file` stays
};
Result<std::vector<RemovedRule>> remove_call_rule(const ParsedCommand& command, const std::string& server);
// Asked before other files are changed: whether the two functions above write where the daemon on the bus reads.
// Errors: invalid, naming the folders of both.
Result<> check_rules_writable(const ParsedCommand& command);
Result<> check_rules_removable(const ParsedCommand& command,
                               const std::string& server);  // true, too, if there are none

}  // namespace admin
