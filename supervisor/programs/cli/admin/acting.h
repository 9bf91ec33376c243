// act_on_each(): does one thing to each object that the command line names, and says for each what was done. One that
// fails does not keep the others from being done. Used by: kill, freeze, thaw, limit, approve, deny.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "supervisor/programs/cli/admin/command.h"

namespace admin {

// ActionResult: what one action did.
struct ActionResult {
  std::string id;         // the whole id
  std::string done;       // "e1f2... is frozen"
  std::string text = {};  // for --json, as the member "text", if not empty
};

// `command`: for messages; `member`: says in JSON whether it was done. Returns the exit status: 1 if any failed.
// Errors: unavailable, for the whole command.
using Action = std::function<Result<ActionResult>(const std::string& word)>;
Result<int> act_on_each(const ParsedCommand& parsed_command, const std::vector<std::string>& words, const char* command,
                        const char* member, const Action& act);

}  // namespace admin
