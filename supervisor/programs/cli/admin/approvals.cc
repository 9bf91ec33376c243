// `warder approvals`, `warder approve` and `warder deny`.
#include <cstdio>

#include "supervisor/base/json/json.h"
#include "supervisor/base/text_lines.h"
#include "supervisor/programs/cli/admin/acting.h"
#include "supervisor/programs/cli/admin/bus_client.h"
#include "supervisor/programs/cli/admin/command.h"
#include "supervisor/programs/cli/admin/short_ids.h"
#include "supervisor/programs/cli/admin/text.h"
#include "supervisor/programs/cli/terminal.h"

namespace admin {
namespace {

Result<int> decide(const ParsedCommand& parsed_command, const char* command, const char* method, const char* done,
                   const std::string& reason) {
  TRY(BusClient warderd, BusClient::connect(parsed_command.bus));
  const bool denies = std::string_view(method) == "Deny";
  return act_on_each(parsed_command, parsed_command.words, command, "done",
                     [&](const std::string& word) -> Result<ActionResult> {
                       TRY(std::string id, find_approval(warderd, word));
                       BusClient::Arguments arguments{"s", {id}};
                       if (denies) arguments = {"ss", {id, reason}};
                       CHECKED(warderd.call(kPath, kManager, method, arguments));
                       return ActionResult{id, id + " is " + done};
                     });
}

// The arguments of a call; below them, line by line, the diff of a commit, which is one text of them.
std::string arguments_text(const Json& approval) {
  std::string arguments = text(approval, "Arguments"), diff;
  auto parsed = parse_json(arguments);
  if (!parsed || !parsed->is_object() || !parsed->contains("diff") || !(*parsed)["diff"].is_string()) return arguments;
  std::string_view lines = (*parsed)["diff"].get_ref<const std::string&>();
  while (const auto line = take_line(lines)) diff.append("\n    | ").append(*line);
  parsed->erase("diff");
  return dump_json(*parsed) + diff;
}

// `warder approvals --reveal ID`: the arguments with personal data. The daemon records the look.
Result<int> reveal(const BusClient& warderd, const ParsedCommand& command) {
  return act_on_each(command, command.values("reveal"), "approvals", "shown",
                     [&](const std::string& word) -> Result<ActionResult> {
                       TRY(std::string id, find_approval(warderd, word));
                       TRY(const Json exact, warderd.call(kPath, kManager, "RevealApproval", {"s", {id}}));
                       return ActionResult{
                           id, id + "  " + text(exact) + "\n    this look is recorded in the audit chain", text(exact)};
                     });
}

}  // namespace

Result<int> run_approvals(const ParsedCommand& command) {
  TRY(BusClient warderd, BusClient::connect(command.bus));
  if (command.has("reveal")) return reveal(warderd, command);
  if (!command.has("all")) warderd.without_authentication();  // a user may list its own calls
  TRY(const Json all, warderd.call(kPath, kManager, "ListApprovals"));
  if (command.json) {
    print_json(all);
    return 0;
  }
  for (const Json& item : all) {
    const auto execution = text(item, "Execution"), why = text(item, "Why");
    std::string display_text = text(item, "Id") + "  " + text(item, "Tool") + " " + arguments_text(item) +
                               "\n    tenant " + text(item, "Tenant") + ", " + client_text(item) + ", " +
                               (execution.empty() ? "a direct call" : "execution " + execution) + ", " +
                               text(item, "Rule") + (why.empty() ? "" : ": " + why) + "\n";
    cli::print_text(stdout, display_text);
  }
  return 0;
}
const ProgramOfCommand kRunApprovals{"approvals", run_approvals};

Result<int> run_approve(const ParsedCommand& command) {
  return decide(command, "approve", "Approve", "approved: the call is made once", "");
}
const ProgramOfCommand kRunApprove{"approve", run_approve};
Result<int> run_deny(const ParsedCommand& command) {
  return decide(command, "deny", "Deny", "denied: the call is not made", command.value("reason", ""));
}
const ProgramOfCommand kRunDeny{"deny", run_deny};

}  // namespace admin
