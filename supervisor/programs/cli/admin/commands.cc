#include "supervisor/programs/cli/admin/command.h"

#include "supervisor/programs/cli/admin/command_rows.h"

namespace admin {
namespace {

const Flag kPolicies{"--policies", "DIR", "Folder of policies, instead of the installed ones; may be repeated",
                     Times::any};
const Flag kUser{"--user", "USER",
                 "For connections of this user, by name or number; default: the user of this command"};
const Flag kToken{"--token", "TOKEN", "For clients with the token of this name (warder token list)"};
const Flag kSubject{"--subject", "SUBJECT", "For clients with a JWT of this subject"};
const Flag kClaim{"--claim", "CLAIM", "The value of jwt.tenant_claim in that JWT; default: it has none"};
const Flag kUnit{"--unit", "UNIT", "For connections from processes of this system unit"};

const Flag kJournal{"--journal", "FILE", "Read this journal.db, or the one of this state folder, without a daemon"};

const Flag kState{"--state", "DIR", "The state folder of the daemon; default: /var/lib/warder"};

const Command kExplain{
    "policy explain",
    nullptr,
    nullptr,
    "Show whether the policies refuse a request, which rule of which file decides, and how to change it. Each flag "
    "asks one question. Exit status: 1 if any answer is a refusal",
    {{"--language", "python|javascript|typescript|shell", "May a program be in this language?"},
     {"--memory", "MB", "May a program have this much memory?"},
     {"--timeout", "SECONDS", "May a program run this long?"},
     {"--workspace", "NAME", "May a program use this workspace?"},
     {"--network", nullptr, "May a program open network connections?"},
     {"--host", "NAME", "May a program reach this host, through the egress proxy?"},
     {"--port", "PORT", "The port that --host asks about; default: 443"},
     {"--method", "METHOD", "The HTTP method that --host asks about; without it: a tunnel (CONNECT)"},
     {"--path", "PATH", "The path of that request"},
     {"--call", "CALL", "May a program make this system call?", Times::any},
     {"--tool", "TOOL",
      "May this tool be called? A tool of Warder (execute_code) or of an upstream server (files.read_file)"},
     {"--arguments", "JSON", "The arguments of the call that --tool asks about"},
     {"--save-skill", nullptr, "May skills be saved and deleted?"},
     {"--restore-pii", nullptr, "May PII tokens be restored to the personal data that they replace?"},
     kUser,
     kUnit,
     kToken,
     kSubject,
     kClaim,
     {"--policy", "POLICY", "Answer for this policy, without asking which tenant it applies to"},
     kPolicies},
    DaemonCall::none};

// The flags of `audit list`, export and tail.
std::vector<Flag> entry_flags(const char* limit_text) {
  return {{"--tenant", "TENANT", "Only entries of this tenant"},
          {"--kind", "call|refusal|approval|own", "Only entries of this kind; own: of the journal about itself"},
          {"--since", "TIME",
           "Only entries since: 2h (before now), 7d, 2026-11-24, 2026-11-24T22:30:05, or the same with a Z for UTC"},
          {"--until", "TIME", "Only entries before this time"},
          {"-n,--limit", "N", limit_text}};
}

std::vector<Flag> export_flags() {
  std::vector<Flag> flags = entry_flags("At most N entries; default: all");
  flags.push_back({"--format", "json", "The format: json, which is the default"});
  return flags;
}

std::vector<Flag> tail_flags() {
  std::vector<Flag> flags = entry_flags("Begin with the newest N entries; default: 10");
  flags.push_back({"-f,--follow", nullptr, "Print new entries, until Ctrl-C"});
  return flags;
}

constexpr char kExecutionIds[] = "Execution ids, as warder ps lists them; the first characters are enough";
constexpr char kApprovalIds[] = "Approval ids, as warder approvals lists them; the first characters are enough";
constexpr char kProposalIds[] = "Proposal ids, as warder diff lists them; the first characters are enough";
const Flag kProposalTenant{"--tenant", "NAME",
                           "Proposals of this tenant, or of its named workspace TENANT/WORKSPACE. Needed if no client "
                           "has used it since the daemon started"};
constexpr char kJournalWords[] = "A journal.db or the state folder of a daemon; default: /var/lib/warder";

const std::vector<Command> kExecutionCommands = {
    {"ps",
     nullptr,
     nullptr,
     "List the executions that wait or run",
     {{"-a,--all", nullptr, "List executions that ended in the last minute, too"},
      {"--cluster", nullptr,
       "List those of all nodes of the cluster. Nodes that do not answer within half a second are named"},
      {"--tenant", "NAME", "Only executions of this tenant", Times::any},
      {"--state", "waiting|starting|running|frozen|ended", "Only executions in this state", Times::any},
      {"--language", "python|javascript|typescript|shell", "Only programs in this language", Times::any},
      {"--full-ids", nullptr, "Print whole ids"}}},
    {"top",
     nullptr,
     nullptr,
     "Watch the daemon, its tenants and its executions. Keys: the arrows choose an execution, Enter shows its "
     "receipt "
     "and output, k kills it after a question, f freezes it, h lists all keys. Without a terminal, print the list "
     "once",
     {{"-n,--count", "N", "Quit after N refreshes"},
      {"-d,--delay", "SECONDS", "Seconds between two refreshes; default: 1"},
      {"-s,--sort", "cpu|memory|wall|age", "The column to sort by, largest value first"},
      {"--tenant", "TENANT", "Show only executions of this tenant"},
      {"-b,--batch", nullptr, "Print plain text also on a terminal"}}},
    {"logs",
     "[EXECUTION]",
     kExecutionIds,
     "Print the output of an execution. With -f and without an execution, print a line when any execution starts or "
     "ends",
     {{"-f,--follow", nullptr, "Print new output until the execution ends"},
      {"--stderr", nullptr, "Print only the standard error of the execution"},
      {"--stdout", nullptr, "Print only the standard output of the execution"}}},
    {"history",
     nullptr,
     nullptr,
     "List past executions, newest first. A user sees those of the own tenant, root those of all tenants. If no "
     "daemon runs, root reads the journal's file",
     {{"--tenant", "TENANT", "Only executions of this tenant; polkit may ask for a password"},
      {"-a,--all", nullptr, "Executions of all tenants; polkit may ask for a password"},
      {"--outcome", "OUTCOME", "Only executions with this outcome, for example timeout, or running"},
      {"--language", "LANGUAGE", "Only programs in this language"},
      {"--user", "USER", "Only executions of clients of this user, by name or number, or of this token: token:NAME"},
      {"--since", "TIME",
       "Only executions that began since: 2h (before now), 7d, 2026-11-24, 2026-11-24T22:30:05, "
       "or the same with a Z for UTC"},
      {"--until", "TIME", "Only executions that began before this time"},
      {"-n,--limit", "N", "List at most N executions; default: 50"},
      kJournal}},
    {"show",
     "EXECUTION",
     "An execution id of warder history, or its first four or more characters",
     "Print the record of an execution: its outcome, its use, the changed files, its calls of upstream "
     "tools with their approvals, and its receipt",
     {kJournal}},
    {"kill",
     "[EXECUTION...]",
     kExecutionIds,
     "End executions; their outcome is cancelled",
     {{"--tenant", "NAME", "End all executions of this tenant, after a question"},
      {"-y,--yes", nullptr, "Do not ask"}}},
    {"freeze",
     "EXECUTION...",
     kExecutionIds,
     "Stop all processes of executions until warder thaw; their wall time stands still",
     {}},
    {"thaw", "EXECUTION...", kExecutionIds, "Let frozen executions run again", {}},
    {"limit",
     "EXECUTION...",
     kExecutionIds,
     "Change limits of running executions. Only administrators may give more than the maximum of the policy",
     {{"--memory", "MB", "Memory that the program may use"},
      {"--timeout", "SECONDS", "Wall time that the program may run, from its start"},
      {"--cpus", "NUMBER", "Processors that the program may use at one time, for example 0.5"},
      {"--tasks", "NUMBER", "Processes and threads that the jail may have"}}},
};

const std::vector<Command> kApprovalCommands = {
    {"approvals",
     nullptr,
     nullptr,
     "List the calls that wait for an approval",
     {{"-a,--all", nullptr, "List calls of other tenants, too; polkit may ask for a password"},
      {"--reveal", "APPROVAL",
       "Show the arguments of this call with the personal data in the place of tokens. Only administrators may; each "
       "look is recorded in the audit chain",
       Times::any}}},
    {"approve", "APPROVAL...", kApprovalIds, "Approve waiting calls; each call is made once", {}},
    {"deny",
     "APPROVAL...",
     kApprovalIds,
     "Refuse waiting calls",
     {{"-r,--reason", "TEXT", "The reason, which the calling code receives"}}},
};

const std::vector<Command> kProposalCommands = {
    {"diff",
     "[PROPOSAL]",
     kProposalIds,
     "Print what a staged execution wants to change, as a unified diff of at most 1 MiB. Without a proposal, list "
     "those that can be committed or undone",
     {kProposalTenant}},
    {"commit",
     "PROPOSAL [PATH...]",
     "A proposal, and files or folders of its workspace; default: all its changes",
     "Commit a proposal: its changes are made in the workspace, all or none. No file is changed if another program "
     "has changed one of the files; exit status 1 then, with their paths",
     {kProposalTenant}},
    {"discard", "PROPOSAL...", kProposalIds, "Delete proposals; their workspaces stay as they are", {kProposalTenant}},
    {"undo",
     "PROPOSAL",
     kProposalIds,
     "Take the last commit of a proposal back. No file is changed if one was changed after the commit; exit "
     "status "
     "1 then",
     {kProposalTenant}},
};

const std::vector<Command> kDaemonCommands = {
    {"reload",
     nullptr,
     nullptr,
     "Read the configuration, policies and tool definitions again, and print the policies, or each problem on a line "
     "of its own. After a problem the daemon works on as before. systemctl reload warder does the same, and "
     "renews the last good copy. Exit status: 1 if the reload failed",
     {}},
    {"drain",
     nullptr,
     nullptr,
     "End the daemon after the calls that are under way; it takes no new ones. systemd starts it again with the next "
     "call",
     {{"-w,--wait", nullptr, "Return when the daemon has ended"}}},
    {"log-level",
     "[LEVEL]",
     "error, warning, notice, info or debug; default: print the level",
     "Print or change how much the daemon writes into its log, until it ends",
     {}},
};

const std::vector<Command> kAuditCommands = {
    {"audit verify",
     "[FILE]",
     kJournalWords,
     "Check that no entry of the audit chain was changed, added or removed. The daemon may run meanwhile. Exit "
     "status: 1 if the chain is broken, or lacks one of the heads to compare with; the first bad entry or head is "
     "printed",
     {{"--against", "FILE",
       "Check that the chain contains the heads in FILE (-: standard input): the output of journalctl -u warder -o "
       "json, "
       "log lines as text, or the output of warder audit head"}},
     DaemonCall::none},
    {"audit head",
     "[FILE]",
     kJournalWords,
     "Print the number of entries and the hash of the last entry of the audit chain, to be stored on another machine: "
     "warder audit verify then finds a chain that was cut off, begun anew or rewritten since. This command does not "
     "verify the chain",
     {},
     DaemonCall::none},
    {"audit list", "[FILE]", kJournalWords,
     "List entries of the audit chain, newest first. The daemon may run meanwhile",
     entry_flags("At most N entries; default: 50"), DaemonCall::none},
    {"audit export", "[FILE]", kJournalWords,
     "Print entries of the audit chain, oldest first, one JSON object a line, with its number and hash in the chain: "
     "a missing number was forgotten or filtered, see warder audit verify",
     export_flags(), DaemonCall::none},
    {"audit tail", "[FILE]", kJournalWords,
     "Print the newest entries of the audit chain, oldest first, and with -f each new entry within a second. Repeats "
     "of "
     "a call have one entry for each minute, when the minute is over",
     tail_flags(), DaemonCall::none},
};

const std::vector<Command> kTenantCommands = {
    {"tenants",
     nullptr,
     nullptr,
     "List the tenants: the user of the last execution, executions, sessions, the files of those that have connected "
     "since the daemon started, and their last use. A user sees its own tenant",
     {}},
    {"tenant export",
     "NAME...",
     "The tenant, and a new file",
     "Write all data of a tenant into a new tar file: workspaces, output, sessions' logs, skills, and its records as "
     "lines of JSON. Not its vault, which is sealed. For root; the daemon may run meanwhile",
     {kState},
     DaemonCall::none},
    {"tenant remove",
     "NAME",
     "The tenant",
     "Remove a tenant with its files, output, vault and records; its entries in the audit chain stay. Refused while "
     "it "
     "has an execution or a session",
     {{"--yes", nullptr, "Do not ask"}, {"--force", nullptr, "End its executions and sessions"}}},
    {"backup",
     "FILE",
     "A new file",
     "Write the state folder of the daemon into a new tar file, while the daemon serves. For root",
     {{"--with-key", nullptr, "Include master.key, without which no PII token can be restored: guard the file"},
      kState},
     DaemonCall::none},
    {"restore",
     "FILE",
     "A file of warder backup",
     "Put a backup in the place of the state folder. The daemon must not run. For root",
     {{"--force", nullptr, "Even if the state folder is not empty; it is renamed"}, kState},
     DaemonCall::none},
};

const std::vector<Command> kObservationCommands = {
    {"status",
     nullptr,
     nullptr,
     "Print whether the daemon serves as it is configured, and each problem: listeners and users that are missing, a "
     "failed reload, a full disk. Exit status: 1 if there is a problem, 125 if no daemon answers",
     {}},
    {"stats", nullptr, nullptr, "Print the counts and times of the daemon since its start", {}},
    {"dashboard",
     nullptr,
     nullptr,
     "Serve a page for a browser on this machine until Ctrl-C: plots of the last ten minutes, hour or day, tenants, "
     "executions with their receipt and output, and calls that wait for an approval. The page may do what its user "
     "may. From another machine: ssh -L, as the command prints it",
     {{"--port", "PORT", "The port on 127.0.0.1; default: a free one. The printed address contains a secret key"},
      {"--unix", "PATH", "Serve on a Unix socket that only its user can open, instead of a port"},
      {"--read-only", nullptr, "Serve a page that cannot kill, freeze or decide"}}},
    {"metrics",
     nullptr,
     nullptr,
     "Print the daemon's metrics: OpenMetrics text, or its samples as JSON",
     {{"--from", "PATH", "The socket for metrics of warderd; default: metrics.sock beside the MCP socket"}},
     DaemonCall::none},
    {"doctor",
     nullptr,
     nullptr,
     "Check this machine for all that warderd and its jails need, run a program if a daemon answers, and print each "
     "finding with its remedy. Exit status: 1 if a finding is bad, which means that Warder cannot work",
     {kPolicies, {"--state", "DIR", "The state folder of the daemon, to check its quotas"}}},
};

const std::vector<Command> kPolicyCommands = {
    {"config check",
     "[FILE]",
     "The configuration file, with the folder FILE.d/; default: that of the daemon: /etc/warder/warderd.json, or the "
     "user's own, ~/.config/warder/warderd.json",
     "Read the configuration and the policies as a start of warderd does. Print each problem and each warning on its "
     "own line. Exit status: 1 if there is a problem",
     {kPolicies},
     DaemonCall::none},
    {"policy check",
     nullptr,
     nullptr,
     "Read all policies as warderd does. Print each problem on its own line, and a warning for each key with a "
     "former name. Exit status: 1 if there is a problem",
     {kPolicies},
     DaemonCall::none},
    {"policy import",
     "FILE",
     "A file with `guardrails`, as YAML or JSON, or a .env file with GUARDRAILS_... variables",
     "Print a policy with the guardrails of a file: enabled, strict_mode, security_checks, max_execution_time, "
     "max_memory_mb. `warder policy explain` then names the guardrail that decides",
     {kPolicies},
     DaemonCall::none},
    {"policy show",
     "[POLICY]",
     "The name of a policy; default: the policy of the user of this command",
     "Print a policy as it applies, with the policies that it extends, and the file of each value",
     {kUser, kUnit, kToken, kSubject, kClaim, kPolicies},
     DaemonCall::none},
    kExplain,
};

const std::vector<Command> kHiddenCommands = {
    {"unreachable",
     nullptr,
     nullptr,
     "Print why no daemon answers, and the remedy",
     {},
     DaemonCall::over_bus,
     CommandHelp::hidden},
    {"complete",
     "WHAT...",
     "executions, approvals, proposals or policies; then the command line before the cursor, as one word",
     "Print the words that complete the command line",
     {},
     DaemonCall::none,
     CommandHelp::hidden},
};

// All commands, in the order of the help.
std::vector<Command> all_commands() {
  std::vector<Command> all;
  for (const auto& group :
       {kExecutionCommands, kApprovalCommands, kProposalCommands, kDaemonCommands, kAuditCommands, kTenantCommands,
        kObservationCommands, kPolicyCommands, kHiddenCommands, server_commands(), token_commands(), skill_commands(),
        layer_commands(), workflow_commands(), cluster_commands()})
    all.insert(all.end(), group.begin(), group.end());
  return all;
}

}  // namespace

const std::vector<Command>& commands() {
  static const std::vector<Command> kAll = all_commands();
  return kAll;
}

const char* group_summary(std::string_view first_word) {
  if (first_word == "config") return "Check the configuration of warderd";
  if (first_word == "servers")
    return "List, add, import, test, log in to and remove upstream servers (other MCP servers)";
  if (first_word == "token") return "Make, list and remove tokens for clients over TCP";
  if (first_word == "cluster") return "Keys of a cluster's nodes, and the record of all nodes";
  if (first_word == "layer") return "Build, list, check and remove package layers for jails";
  if (first_word == "skill") return "Make a skill of the code of an execution, and show which code is used often";
  if (first_word == "workflow") return "Check and run declared workflows, and show what they have done";
  if (first_word == "audit") return "Read and check the audit chain, the record of all calls to the daemon";
  if (first_word == "tenant") return "Export and remove tenants";
  return first_word == "policy" ? "Show the policies of this machine" : "";
}

}  // namespace admin
