#include "supervisor/cli/admin/command.h"

namespace admin {
namespace {

const Flag kPolicies{"--policies", "DIR", "Folder of policies, instead of the installed ones; may be repeated",
                     Times::any};
const Flag kUser{"--user", "USER", "Of this user's connections, by name or number; else of whoever asks"};
const Flag kUnit{"--unit", "UNIT", "Of connections of this system unit"};

const Command kExplain{
    "policy explain",
    explain_policy,
    nullptr,
    nullptr,
    "Tell whether a request would be refused, by which rule of which file, and what to change; each flag asks about "
    "one thing. Exit status: 1 if something would be refused",
    {{"--language", "python|javascript|typescript|shell", "A program in this language"},
     {"--memory", "MB", "With this much memory"},
     {"--timeout", "SECONDS", "That may run this long"},
     {"--workspace", "NAME", "In this workspace"},
     {"--network", nullptr, "That opens connections"},
     {"--call", "CALL", "That makes this system call", Times::any},
     {"--tool", "TOOL", "A call of a tool of Warder's (execute_code), or of another server's (files.read_file)"},
     {"--arguments", "JSON", "The arguments of that call"},
     {"--save-skill", nullptr, "Saving and deleting skills"},
     {"--restore-pii", nullptr, "Getting back what tokens stand for"},
     kUser,
     kUnit,
     {"--policy", "POLICY", "Under this policy, whoever asks"},
     kPolicies},
    Asks::nobody};

}  // namespace

const std::vector<Command>& commands() {
  static const char* const kIds = "As in warder ps";
  static const char* const kApprovals = "As in warder approvals";
  static const std::vector<Command> kCommands = {
      {"ps",
       run_ps,
       nullptr,
       nullptr,
       "List the executions that wait or run",
       {{"-a,--all", nullptr, "Also those that ended in the last minute"}}},
      {"top",
       run_top,
       nullptr,
       nullptr,
       "Watch the executions and the daemon: arrows choose one, k kills it, c m w a sort, q ends. Without a terminal, "
       "print one picture",
       {{"-n,--count", "N", "End after N pictures"},
        {"-d,--delay", "SECONDS", "Between two pictures; 1 unless told"},
        {"-s,--sort", "cpu|memory|wall|age", "By which column, the largest first"}}},
      {"logs",
       run_logs,
       "[EXECUTION]",
       kIds,
       "Print what an execution wrote; with -f and without one, tell of executions as they begin and end",
       {{"-f,--follow", nullptr, "Go on until it ends"},
        {"--stderr", nullptr, "Only its standard error"},
        {"--stdout", nullptr, "Only its standard output"}}},
      {"kill", run_kill, "EXECUTION...", kIds, "End executions, with outcome cancelled", {}},
      {"approvals",
       run_approvals,
       nullptr,
       nullptr,
       "List the calls that wait until somebody approves them",
       {{"-a,--all", nullptr, "Also other tenants', if polkit grants it for a password"}}},
      {"approve", run_approve, "APPROVAL...", kApprovals, "Let calls that wait be made, once", {}},
      {"deny",
       run_deny,
       "APPROVAL...",
       kApprovals,
       "Refuse calls that wait",
       {{"-r,--reason", "TEXT", "Told to the code that asks"}}},
      {"audit verify",
       verify_audit_chain,
       "[FILE]",
       "A journal.db, or a daemon's state folder; /var/lib/warder unless told",
       "Check that nothing in the audit chain was changed, added or removed, beside a daemon or without one. Exit "
       "status: "
       "1 if something was, and the first such entry is named",
       {},
       Asks::nobody},
      {"stats", run_stats, nullptr, nullptr, "Print the daemon's numbers since it started", {}},
      {"dashboard",
       run_dashboard,
       nullptr,
       nullptr,
       "Show the executions, tenants and plots of the last ten minutes to a browser on this machine, until it is ended",
       {{"--port", "PORT", "Of 127.0.0.1; one that is free unless told. The address has a key that nobody else knows"},
        {"--unix", "PATH", "A Unix socket of its user's own, instead"}}},
      {"metrics",
       run_metrics,
       nullptr,
       nullptr,
       "Print the daemon's metrics: OpenMetrics text, or its samples as JSON",
       {{"--from", "PATH", "The socket that warderd serves them on; else metrics.sock beside its own"}},
       Asks::nobody},
      {"doctor",
       run_doctor,
       nullptr,
       nullptr,
       "Look at this machine as warderd and its jails need it, run a program if a daemon answers, and tell each "
       "finding with its remedy. Exit status: 1 if something stands in the way",
       {kPolicies, {"--state", "DIR", "The daemon's state folder, for its quotas"}}},
      {"policy check",
       check_policies,
       nullptr,
       nullptr,
       "Read all policies as warderd would, and print every problem, one a line, and a warning for each key under a "
       "former name. Exit status: 1 if there is a problem",
       {kPolicies},
       Asks::nobody},
      {"policy show",
       show_policy,
       "[POLICY]",
       "Its name; else that of the user who asks",
       "Print a policy as it applies, with all that it extends, and which file says what",
       {kUser, kUnit, kPolicies},
       Asks::nobody},
      kExplain,
      {"complete",
       print_candidates,
       "WHAT...",
       "executions, approvals or policies; then the line before the cursor, as one word",
       "Print what may stand at the cursor",
       {},
       Asks::nobody,
       Told::no},
  };
  return kCommands;
}

const char* group_summary(std::string_view first_word) {
  if (first_word == "audit") return "Look at the record of what was asked of the daemon";
  return first_word == "policy" ? "Tell what the policies of this machine say" : "";
}

}  // namespace admin
