#include "supervisor/programs/cli/admin/command_rows.h"

namespace admin {

std::vector<Command> token_commands() {
  static const Flag kConfigFile{
      "--config", "FILE",
      "The configuration file of the daemon, with the folder FILE.d/; default: /etc/warder/warderd.json, or "
      "the user's own"};
  static const Flag kFolders{"--policies", "DIR", "Folder of policies, instead of those of the configuration",
                             Times::any};
  return {
      {"token add",
       "NAME",
       "The name of the new token: 1 to 48 of a-z, 0-9, '-', '_' and '.'",
       "Make a token for clients over TCP, print it once, and store its hash. Its clients belong to the tenant of the "
       "first rule of tenants.json that names the token, or else to the tenant that is given here",
       {{"--tenant", "TENANT", "The tenant of its clients; default, with --policy: token-NAME"},
        {"--policy", "POLICY", "The policy of its clients; default, with --tenant: the one for tenants without a rule"},
        {"--expires", "WHEN",
         "Refuse it from then on: 90d, 12h, 30m from now, 2027-01-01 or 2027-01-01T00:00:00Z (UTC)"},
        kConfigFile,
        kFolders}},
      {"token list",
       nullptr,
       nullptr,
       "List the tokens of the configuration: name, tenant, policy, expiry. Tokens of the systemd credential "
       "warder.tokens are not listed",
       {kConfigFile, kFolders},
       DaemonCall::none},
      {"token remove",
       "NAME...",
       "Names of tokens that `warder token add` made",
       "Remove tokens. Their clients are disconnected, and their sessions end",
       {kConfigFile, kFolders}},
      {"token check",
       nullptr,
       nullptr,
       "Read a token from standard input, and say whether it is mistyped, and which token of the configuration it is. "
       "Exit status: 1 if it lets nobody in",
       {kConfigFile, kFolders},
       DaemonCall::none},
  };
}

}  // namespace admin
