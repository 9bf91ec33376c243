#include "supervisor/programs/cli/admin/command_rows.h"

namespace admin {
namespace {

const Flag kConfig{
    "--config", "FILE",
    "The configuration file of the daemon, with the folder FILE.d/; default: /etc/warder/warderd.json, or "
    "the user's own"};
const Flag kEnv{"--env", "KEY=VALUE", "A variable of the server's environment", Times::any};
const Flag kSecret{"--secret", "KEY=FILE",
                   "A variable (for a URL: a header) with the text of a file, which the daemon's user can read. It is "
                   "hidden in answers",
                   Times::any};
const Flag kHeader{"--header", "KEY=VALUE", "A header of each request to a URL", Times::any};
const Flag kFolder{"--folder", "PATH",
                   "The working folder, which a jail shows as /workspace; \"workspace\": that of the calling tenant"};
const Flag kCall{"--call", "allow|ask|deny",
                 "Write a rule for all tools of the server into the policies: allow them, ask a person, or deny them"};
const Flag kPolicyName{"--policy", "POLICY", "Ask and write only this policy; default: those of all tenants",
                       Times::any};
const Flag kPolicyFolders{"--policies", "DIR", "Folder of policies, instead of the installed ones; may be repeated",
                          Times::any};
const Flag kLoginTenant{"--tenant", "TENANT",
                        "Whose login it is, where each tenant has its own; default: the tenant of the calling user"};
const Flag kReplace{"--replace", nullptr, "Replace the server, if this command added it before"};
const Flag kNoTest{"--no-test", nullptr, "Do not start the server to see its tools"};
const Flag kYes{"-y,--yes", nullptr, "Do not ask"};

}  // namespace

std::vector<Command> server_commands() {
  return {
      {"servers list",
       nullptr,
       nullptr,
       "List the upstream servers: where each one runs, its state, its tools, its last problem. Without a daemon, as "
       "the configuration has them",
       {kConfig, kPolicyFolders}},
      {"servers add",
       "NAME...",
       "A new name; then `--` and the command with its arguments, or the URL of a server that speaks Streamable HTTP",
       "Add an upstream server: check it, write a file of warderd.json.d/, reload the daemon, start the server, and "
       "say "
       "which of its tools the policies allow. Exit status: 1 if it was added and does not start",
       {kEnv,
        kSecret,
        kHeader,
        kFolder,
        {"--jail", nullptr, "Run it in a jail, which is the default: no network, and of the host's files only /usr"},
        {"--no-jail", nullptr, "Run it as the daemon's user, with its files and network"},
        {"--shared", nullptr, "One process for all tenants, instead of one for each"},
        kCall,
        kPolicyName,
        kPolicyFolders,
        kReplace,
        kNoTest,
        {"--open-network", nullptr, "Give the service a network, for a URL: write a drop-in of its unit. Root only"},
        kConfig},
       DaemonCall::over_bus,
       CommandHelp::listed,
       AfterDashes::command_line},
      {"servers remove",
       "SERVER...",
       "Names of servers that `warder servers` added",
       "Remove upstream servers, and the rules that were written for them. Running calls are finished",
       {kPolicyFolders, kConfig}},
      {"servers test",
       "SERVER...",
       "Names of servers",
       "Start upstream servers as their next call would, and print their tools, or why they do not start. Exit status: "
       "1 "
       "if one does not start",
       {{"--tenant", "TENANT", "Whose login is used, where each tenant has its own"},
        kCall,
        kPolicyName,
        kPolicyFolders,
        kConfig}},
      {"servers login",
       "SERVER",
       "The name of a server whose configuration has `oauth` with the grant authorization_code",
       "Log in to an upstream server: print the URL for a browser, wait for the browser's redirect at a port of this "
       "machine, and give it to the daemon, which gets the tokens and stores them sealed",
       {kLoginTenant,
        {"--scope", "SCOPE", "Ask for this scope, instead of those of the configuration; may be repeated", Times::any},
        {"--port", "PORT", "The port of 127.0.0.1 for the redirect; default: a free one"},
        {"--paste", nullptr, "The browser runs on another machine: ask for the address of its last page"},
        {"--no-browser", nullptr, "Only print the URL, and start no browser"}}},
      {"servers logout",
       "SERVER...",
       "Names of servers",
       "Delete the tokens of a login, and revoke them at the authorization server. If that fails, the reason is "
       "printed: "
       "remove the access there",
       {kLoginTenant}},
      {"servers import",
       "FILE",
       "The configuration of an MCP client: ~/.claude.json, claude_desktop_config.json, mcp.json of Cursor or VS Code",
       "Add the servers of an MCP client's configuration. First print what would be added, what cannot work in a jail, "
       "and why; then ask. An ordinary user without a daemon gets the entries for an administrator",
       {{"--only", "NAME", "Only this server; may be repeated", Times::any},
        kYes,
        kCall,
        kPolicyName,
        kPolicyFolders,
        kNoTest,
        kConfig}},
      {"servers install",
       "SOURCE...",
       "npm:PACKAGE[@VERSION], a FILE.tgz, or a folder; then `--` and the arguments of the server",
       "Copy a server's program into /usr/local/lib/warder/servers, where jails see it, and add it. npm fetches the "
       "package and its dependencies without privileges and without running any script of a package. Root only",
       {{"--name", "NAME", "The name of the server; default: from the package"},
        {"--from", "FILE", "Take the package from this .tgz file instead of npm's registry, without network"},
        {"--run", "PATH",
         "The program in a folder or package, for example dist/index.js; default: as package.json says"},
        {"--into", "DIR", "Copy into this folder below /usr, instead of /usr/local/lib/warder/servers"},
        {"--registry", "URL", "npm's registry"},
        kEnv,
        kSecret,
        kFolder,
        kCall,
        kPolicyName,
        kPolicyFolders,
        kReplace,
        kNoTest,
        kConfig},
       DaemonCall::over_bus,
       CommandHelp::listed,
       AfterDashes::command_line},
  };
}

}  // namespace admin
