#include "supervisor/cli/admin/command.h"

#include "supervisor/cli/servers/commands.h"

namespace admin {
namespace {

const Flag kPolicies{"--policies", "DIR", "Folder of policies, instead of the installed ones; may be repeated",
                     Times::any};
const Flag kUser{"--user", "USER",
                 "For connections of this user, by name or number; default: the user of this command"};
const Flag kUnit{"--unit", "UNIT", "For connections from processes of this system unit"};

const Command kExplain{
    "policy explain",
    explain_policy,
    nullptr,
    nullptr,
    "Show whether the policies refuse a request, which rule of which file decides, and how to change it. Each flag "
    "asks one question. Exit status: 1 if any answer is a refusal",
    {{"--language", "python|javascript|typescript|shell", "May a program be in this language?"},
     {"--memory", "MB", "May a program have this much memory?"},
     {"--timeout", "SECONDS", "May a program run this long?"},
     {"--workspace", "NAME", "May a program use this workspace?"},
     {"--network", nullptr, "May a program open network connections?"},
     {"--call", "CALL", "May a program make this system call?", Times::any},
     {"--tool", "TOOL",
      "May this tool be called? A tool of Warder (execute_code) or of an upstream server (files.read_file)"},
     {"--arguments", "JSON", "The arguments of the call that --tool asks about"},
     {"--save-skill", nullptr, "May skills be saved and deleted?"},
     {"--restore-pii", nullptr, "May PII tokens be restored to the personal data that they replace?"},
     kUser,
     kUnit,
     {"--policy", "POLICY", "Answer for this policy, without asking which tenant it applies to"},
     kPolicies},
    Asks::nobody};

}  // namespace

const std::vector<Command>& commands() {
  static const char* const kIds = "Execution ids, as warder ps lists them";
  static const char* const kApprovals = "Approval ids, as warder approvals lists them";
  static const std::vector<Command> kCommands = {
      {"ps",
       run_ps,
       nullptr,
       nullptr,
       "List the executions that wait or run",
       {{"-a,--all", nullptr, "List executions that ended in the last minute, too"}}},
      {"top",
       run_top,
       nullptr,
       nullptr,
       "Watch the executions and the daemon. Keys: the arrows choose an execution, k kills it, c m w a sort, q quits. "
       "Without a terminal, print the list once",
       {{"-n,--count", "N", "Quit after N refreshes"},
        {"-d,--delay", "SECONDS", "Seconds between two refreshes; default: 1"},
        {"-s,--sort", "cpu|memory|wall|age", "The column to sort by, largest value first"}}},
      {"logs",
       run_logs,
       "[EXECUTION]",
       kIds,
       "Print the output of an execution. With -f and without an execution, print a line when any execution starts or "
       "ends",
       {{"-f,--follow", nullptr, "Print new output until the execution ends"},
        {"--stderr", nullptr, "Print only the standard error of the execution"},
        {"--stdout", nullptr, "Print only the standard output of the execution"}}},
      {"kill", run_kill, "EXECUTION...", kIds, "End executions; their outcome is cancelled", {}},
      {"approvals",
       run_approvals,
       nullptr,
       nullptr,
       "List the calls that wait for an approval",
       {{"-a,--all", nullptr, "List calls of other tenants, too; polkit may ask for a password"}}},
      {"approve", run_approve, "APPROVAL...", kApprovals, "Approve waiting calls; each call is made once", {}},
      {"deny",
       run_deny,
       "APPROVAL...",
       kApprovals,
       "Refuse waiting calls",
       {{"-r,--reason", "TEXT", "The reason, which the calling code receives"}}},
      {"audit verify",
       verify_audit_chain,
       "[FILE]",
       "A journal.db or the state folder of a daemon; default: /var/lib/warder",
       "Check that no entry of the audit chain was changed, added or removed. The daemon may run meanwhile. Exit "
       "status: 1 if the chain is broken; the first bad entry is printed",
       {},
       Asks::nobody},
      {"stats", run_stats, nullptr, nullptr, "Print the counts and times of the daemon since its start", {}},
      {"dashboard",
       run_dashboard,
       nullptr,
       nullptr,
       "Serve a page with executions, tenants and plots of the last ten minutes to a browser on this machine, until "
       "Ctrl-C",
       {{"--port", "PORT", "The port on 127.0.0.1; default: a free one. The printed address contains a secret key"},
        {"--unix", "PATH", "Serve on a Unix socket that only its user can open, instead of a port"}}},
      {"metrics",
       run_metrics,
       nullptr,
       nullptr,
       "Print the daemon's metrics: OpenMetrics text, or its samples as JSON",
       {{"--from", "PATH", "The socket for metrics of warderd; default: metrics.sock beside the MCP socket"}},
       Asks::nobody},
      {"doctor",
       run_doctor,
       nullptr,
       nullptr,
       "Check this machine for all that warderd and its jails need, run a program if a daemon answers, and print each "
       "finding with its remedy. Exit status: 1 if a finding is bad, which means that Warder cannot work",
       {kPolicies, {"--state", "DIR", "The state folder of the daemon, to check its quotas"}}},
      {"config check",
       check_configuration,
       "[FILE]",
       "The configuration file, with the folder FILE.d/; default: that of the daemon: /etc/warder/warderd.json, or the "
       "user's own, ~/.config/warder/warderd.json",
       "Read the configuration and the policies as a start of warderd does. Print each problem and each warning on its "
       "own line. Exit status: 1 if there is a problem",
       {kPolicies},
       Asks::nobody},
      {"policy check",
       check_policies,
       nullptr,
       nullptr,
       "Read all policies as warderd does. Print each problem on its own line, and a warning for each key with a "
       "former name. Exit status: 1 if there is a problem",
       {kPolicies},
       Asks::nobody},
      {"policy show",
       show_policy,
       "[POLICY]",
       "The name of a policy; default: the policy of the user of this command",
       "Print a policy as it applies, with the policies that it extends, and the file of each value",
       {kUser, kUnit, kPolicies},
       Asks::nobody},
      kExplain,
      {"complete",
       print_candidates,
       "WHAT...",
       "executions, approvals or policies; then the command line before the cursor, as one word",
       "Print the words that complete the command line",
       {},
       Asks::nobody,
       Told::no},
  };
  static const std::vector<Command> kAll = with_servers(kCommands);
  return kAll;
}

const char* group_summary(std::string_view first_word) {
  if (first_word == "audit") return "Check the audit chain, the record of all calls to the daemon";
  if (first_word == "config") return "Check the configuration of warderd";
  if (first_word == "servers") return kServersSummary;
  return first_word == "policy" ? "Show the policies of this machine" : "";
}

}  // namespace admin
