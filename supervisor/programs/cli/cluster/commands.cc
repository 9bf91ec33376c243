#include "supervisor/programs/cli/admin/command_rows.h"

namespace admin {

std::vector<Command> cluster_commands() {
  static const Flag kFolder{"--folder", "DIR", "Folder of the cluster's files; default: /etc/warder/cluster"};
  static const Flag kAuthority{"--authority", "FILE",
                               "The private key of the authority; default: authority.key in the folder"};
  static const Flag kNode{"--node", "NODE", "The name of this machine in the cluster: 1 to 32 of a-z, 0-9 and '-'"};
  static const Flag kServer{"--server", "URL",
                            "A NATS server, tls://HOST:PORT; nats:// only on this machine. Default: "
                            "tls://localhost:4222",
                            Times::any};
  static const Flag kLabel{"--label", "NAME=VALUE", "A label of this node, for placement", Times::any};
  return {
      {"cluster init",
       nullptr,
       nullptr,
       "Make a cluster with this machine as its first node: the authority's key, this node's keys, the trust record, "
       "the configuration of warder-node and one for nats-server. Existing files are not replaced",
       {{"--name", "CLUSTER", "The name of the cluster: 1 to 32 of a-z, 0-9 and '-'"},
        kNode,
        kServer,
        kLabel,
        kAuthority,
        kFolder},
       DaemonCall::none},
      {"cluster join",
       nullptr,
       nullptr,
       "Make this machine's keys for a cluster, and print a request: one line without a secret, for `warder cluster "
       "add` on the machine with the authority's key. Called again, it prints the same request",
       {{"--cluster", "CLUSTER", "The name of the cluster"}, kNode, kServer, kLabel, kFolder},
       DaemonCall::none},
      {"cluster add",
       "REQUEST",
       "The line that `warder cluster join` or `rotate node` printed",
       "Sign a trust record with one more node, or with a node's new keys, and write the users of nats-server again",
       {{"--accounts", "ACCOUNTS",
         "The accounts that the node may act for, separated by commas, or all; default: all, or for new keys what the "
         "node had"},
        kAuthority,
        kFolder},
       DaemonCall::none},
      {"cluster remove",
       "NODE",
       "The name of the node",
       "Sign a trust record without a node: the other nodes refuse its messages as soon as they have the record",
       {kAuthority, kFolder},
       DaemonCall::none},
      {"cluster rotate",
       "WHAT",
       "node: new keys of this node; authority: a new key of the authority",
       "Change a key. `node` prints a request for `warder cluster add`, signed by the old and the new key; called "
       "again when the trust record has the new keys, it removes the old ones. `authority` makes a key that the old "
       "one has signed, signs a trust record with it, and removes the old key",
       {kAuthority, kFolder},
       DaemonCall::none},
      {"cluster sign",
       "NAME",
       "The name of the policy, of the skill's folder, or of the server that the definitions are of",
       "Sign a policy for all nodes, in policy-NAME.rule, tool definitions, in catalog-NAME.rule, or a skill for all "
       "tenants, in skill-NAME.rule. In the folder of a node, warder-node finds the file and gives it to all nodes. "
       "They accept it if its serial is larger than that of the rule that they have",
       {{"--file", "FILE", "The policy, or the file of definitions, as JSON; the folder of the skill"},
        {"--catalog", nullptr, "The file has tool definitions"},
        {"--skill", nullptr, "The file is the folder of a skill, with SKILL.md; at most 256 KiB of text"},
        {"--withdraw", nullptr, "Sign that the cluster does not have this policy, definitions or skill any more"},
        {"--serial", "NUMBER", "The serial; default: one more than that of the rule in the folder"},
        kAuthority,
        kFolder},
       DaemonCall::none},
      {"cluster show",
       nullptr,
       nullptr,
       "Print the trust record: nodes, their public keys, the accounts that they may act for; and whether the keys on "
       "this machine are in it",
       {kAuthority, kFolder},
       DaemonCall::none},
      {"nodes",
       nullptr,
       nullptr,
       "List the nodes of the cluster, as the daemon of this machine knows them: state, labels, executions that run "
       "and "
       "may run, homes of workspaces, version, and when each was last heard",
       {}},
      {"nodes move",
       "WORKSPACE [NODE...]",
       "ACCOUNT or ACCOUNT/WORKSPACE with its home on this machine, and the node to move to; without it, one is chosen",
       "Make another node the home of a shared workspace: its files, sessions' logs, skills, stored results and "
       "workflows go there. Requests wait meanwhile; sessions end",
       {}},
      {"nodes drain",
       "[NODE]",
       "The name of this machine's node",
       "Give this node no new homes, also after a restart, and move its homes to other nodes, one after the other. "
       "Fails if a home stays, and says why",
       {{"--park", "FOLDER", "Write each home as a file into this folder, and do not move it"}}},
      {"nodes undrain",
       "[NODE]",
       "The name of this machine's node",
       "End the drain of this node: it gets new homes again. Homes that moved stay where they are",
       {}},
      {"nodes restore",
       "FILE",
       "A file of a parked home, which `warder nodes drain` wrote",
       "Make this node the home of a parked workspace, as it was when the file was written, if its home is gone: its "
       "lease must have ended, for which the command waits 35 s",
       {}},
  };
}

}  // namespace admin
