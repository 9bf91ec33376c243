#include "supervisor/programs/docgen/page_texts.h"

namespace docgen {

const ManualText& text_of_warder() {
  static const ManualText text{
      1,
      "runs code in single-use jails",
      {{"environment",
        "WARDER_SOCKET: the daemon's socket, if --socket is not given.\n\nWARDER_BUS: the bus that the daemon is on, "
        "if --bus is not given.\n\nXDG_RUNTIME_DIR: the folder with the socket of a user's own daemon.\n\n"
        "LLM_API_KEY: the key of the model's API for warder agent, if there is no systemd credential llm-api-key "
        "(CREDENTIALS_DIRECTORY). LLM_MODEL, LLM_BASE_URL: as --model and --base-url.\n\n"
        "XDG_STATE_HOME: warder/agent below it has the transcripts of warder agent; default: ~/.local/state."},
       {"files",
        "/run/warder/mcp.sock: the socket of the system's daemon.\n\n/usr/lib/warder/policies, /etc/warder/policies: "
        "the rights of tenants, warder-policy(5). A file in the second folder replaces the file of the same name in "
        "the "
        "first."},
       {"exit status",
        "Each command above names its own. All commands: 0 success; 1 the request was refused or an object was not "
        "found; 2 the command line is not valid; 125 no daemon answers."},
       {"see also",
        "warderd(8), warderd.json(5), warder-policy(5), org.warder.Warder1(5), busctl(1), systemctl(1), "
        "journalctl(1)"}}};
  return text;
}

const ManualText& text_of_warderd() {
  static const ManualText text{
      8,
      "runs the code of AI agents in jails, over MCP",
      {{"files",
        "/run/warder/mcp.sock: the socket of a daemon that root started; of a user: "
        "$XDG_RUNTIME_DIR/warder/mcp.sock.\n\n"
        "/var/lib/warder: workspaces, records and keys; of a user: $XDG_STATE_HOME/warder.\n\n"
        "/usr/lib/warder/policies, /etc/warder/policies: the rights of tenants. A file in the second folder replaces "
        "the file of the same name in the first.\n\n"
        "/etc/warder/warderd.json, /etc/warder/warderd.json.d/*.json: the configuration, warderd.json(5).\n\n"
        "/etc/warder/catalog: definitions of further tools, if the folder exists and no other folder is named. "
        "/usr/share/doc/warder/examples/catalog has examples of such files; the daemon does not read them.\n\n"
        "/etc/default/warder: the options of the service, as WARDERD_OPTIONS.\n\n"
        "/usr/lib/systemd/user/warder.socket, warder.service: the service of one user, enabled by `systemctl --user "
        "enable --now warder.socket`. Its policies: /usr/lib/warder/user-policies and ~/.config/warder/policies. Its "
        "options: WARDERD_OPTIONS in ~/.config/warder/options."},
       {"exit status",
        "0 after SIGTERM or SIGINT, after a good --check or --reload; 1 if the daemon cannot serve on this machine, or "
        "its jailer ended, or --check or --reload found a mistake; 64 if a flag or the state folder is not valid. A "
        "mistake in a file does not end the daemon: see warderd.json(5)."},
       {"see also",
        "warderd.json(5), warder-policy(5), warder(1), org.warder.Warder1(5), busctl(1), systemctl(1), "
        "systemd.resource-control(5)"}}};
  return text;
}

const ManualText& text_of_bus() {
  static const ManualText text{
      5,
      "warderd on D-Bus",
      {{"description",
        "warderd --bus system owns this name on the system bus; a call starts the daemon. The object "
        "/org/warder/Warder1 is the Manager, and lists the other objects by org.freedesktop.DBus.ObjectManager: "
        "/org/warder/Warder1/execution/ID while an execution waits or runs and for one minute after its end, "
        "/org/warder/Warder1/tenant/NAME for each tenant that has connected. Programs are started over MCP, never over "
        "D-Bus."},
       {"examples",
        "busctl tree org.warder.Warder1\n\n"
        "busctl get-property org.warder.Warder1 /org/warder/Warder1 org.warder.Warder1.Manager Running Outcomes\n\n"
        "busctl call org.warder.Warder1 /org/warder/Warder1 org.warder.Warder1.Manager KillExecution s ID"}}};
  return text;
}

const ManualText& text_of_configuration() {
  static const ManualText text{
      5,
      "the configuration of warderd",
      {{"files",
        "/etc/warder/warderd.json, /etc/warder/warderd.json.d/*.json: the service. No file is no error.\n\n"
        "$XDG_CONFIG_HOME/warder/warderd.json (~/.config/warder/warderd.json), and warderd.json.d/ beside it: the "
        "daemon of an ordinary user.\n\n"
        "/var/lib/warder/last-good/: a copy of the configuration and the policies of the last good start, or of the "
        "last good reload by systemctl reload warder. It belongs to root alone. Do not edit it."},
       {"reload",
        "systemctl reload warder reads the files and the policies again, and takes all of them or nothing. It fails if "
        "there is a mistake, and names each mistake. Policies, upstream servers, imports and the log level follow a "
        "reload. Other keys take effect at a restart, and the reload names them if they have changed. "
        "org.warder.Warder1(5) has the method Reload, and SIGHUP does the same, but neither can store the last good "
        "copy: only a start and warderd --reload, which the service's unit uses, are root."},
       {"mistakes",
        "warderd --check, and warder config check, read the files and try what a start does on this machine: users, "
        "folders, addresses. They name each mistake. A start without an address or a socket of the configuration "
        "serves "
        "all others, says so, and tries again at a reload. A start with a mistake in a file uses the last good copy; "
        "without a copy, it serves and denies executions. The log, "
        "systemctl status warder, warder doctor, the property State (\"degraded\") on D-Bus and the metric "
        "warder_configuration_ok say so. A rule of tenants.json with a user or group that does not exist, and an "
        "import "
        "that cannot be read, are skipped with a warning."},
       {"see also", "warderd(8), warder(1), warder-policy(5), org.warder.Warder1(5)"}}};
  return text;
}

const ManualText& text_of_policy() {
  static const ManualText text{
      5,
      "the rights and limits of a tenant of warderd",
      {{"files",
        "/usr/lib/warder/policies/*.json: the policies of the package, default, system, strict, guardrails and "
        "guardrails-strict.\n\n"
        "/etc/warder/policies/NAME.json: the administrator's. A file masks the package's file of the same name.\n\n"
        "/etc/warder/policies/tenants.json: which user, group, unit, token or subject of a JWT is which tenant, and "
        "its policy. Without the "
        "file, "
        "each user is a tenant under the policy system.\n\n"
        "/etc/warder/policies/seccomp/NAME.json: the system calls that jailed code may make."},
       {"examples",
        "/etc/warder/policies/research.json, with the differences from the policy system only:\n\n"
        "{\"description\": \"Long jobs on large data, Python only\", \"extends\": \"system\", \"languages\": "
        "[\"python\"], \"limits\": {\"standard\": {\"wall_ms\": 120000}, \"maximum\": {\"memory_bytes\": "
        "4294967296}}}\n\n"
        "/etc/warder/policies/tenants.json, the first rule that fits decides:\n\n"
        "{\"rules\": [{\"group\": \"research\", \"tenant\": \"research\", \"policy\": \"research\"}, "
        "{\"default\": true, \"policy\": \"system\"}]}\n\n"
        "warder policy check reads all policies, and systemctl reload warder puts them in force."},
       {"see also", "warderd.json(5), warderd(8), warder(1)"}}};
  return text;
}

const ManualText& text_of_egress() {
  static const ManualText text{
      8,
      "reaches hosts for the code in Warder's jails",
      {{"operation",
        "A jail has no network. If its policy names hosts (egress in warder-policy(5)), warderd gives the jail's "
        "listening "
        "socket and the policy's rules to this proxy, which decides about each request, connects to the host, and "
        "counts. "
        "It has no privileges and no access to files of tenants. systemd starts it by warder-egress.socket; an "
        "ordinary "
        "user starts it with --socket, and names that socket as egress_socket in warderd.json(5)."},
       {"files", "/run/warder-egress/egress.sock: the socket for warderd, which root and the group warder may open."},
       {"exit status", "0 after SIGTERM or SIGINT; 1 if it cannot serve; 2 if a flag is not valid."},
       {"see also", "warderd(8), warder-policy(5), warderd.json(5), /usr/share/doc/warder/egress.md"}}};
  return text;
}

const ManualText& text_of_node() {
  static const ManualText text{
      8,
      "connects the warderd of this machine with those of other machines",
      {{"operation",
        "Carries requests between the daemons of a cluster, over NATS, and keeps the lease of this node and the homes "
        "of "
        "workspaces. It holds the keys of the node, reads no request of an agent, and has no privileges."},
       {"configuration",
        "node.json is an object with these keys. warder cluster init and join write it.\n\n"
        "node, cluster: their names, 1 to 32 of a-z, 0-9 and '-'.\n\n"
        "servers: the NATS servers, 1 to 16, as tls://HOST:4222. ca: PEM file with the authorities of their "
        "certificates; "
        "default: those of the system.\n\n"
        "node_key, nats_seed, trust: the files with the key of the node, its key for NATS, and the signed record of "
        "all "
        "nodes. A credential of the same name (LoadCredential= of the unit) is used instead of the first two.\n\n"
        "slots: executions of other nodes that may run here at the same time, 0 to 4096; default: 16.\n\n"
        "replicas: copies that NATS keeps of what the nodes share, 1 to 5; default: 1. With three servers: 3.\n\n"
        "labels: an object of at most 32 texts about this node; ListNodes on D-Bus has them.\n\n"
        "state: the folder of this program; default: /var/lib/warder-node.\n\n"
        "socket: where warderd connects; default: /run/warder-node/node.sock. warderd: the socket on which warderd "
        "takes "
        "requests of other nodes; default: /run/warder/node.sock."},
       {"files",
        "/etc/warder/cluster/: node.json, keys, trust.record, nats.conf, nats-nodes.conf, and signed rules.\n\n"
        "/var/lib/warder-node: what must outlive this program."},
       {"exit status", "0 after SIGTERM or SIGINT; 1 if it cannot serve; 2 if a flag or node.json is not valid."},
       {"see also", "warder(1), warderd(8), warderd.json(5), nats-server(8), /usr/share/doc/warder/cluster.md"}}};
  return text;
}

}  // namespace docgen
