// add_entry(): what `warder servers add`, `import` and `install` share: writes an entry, reloads the daemon, starts the
// server, and says which of its tools the policies allow.
#pragma once
#include "supervisor/programs/cli/servers/running_daemon.h"

namespace admin {

// Where `warder servers install` copies programs to: below /usr, so that jails see them.
inline constexpr char kInstalledServers[] = "/usr/local/lib/warder/servers";

struct AddedServer {
  std::string name;
  std::string tenant;              // whose login tests it, where each tenant has its own; else empty
  std::string file;                // the written drop-in
  bool reloaded = false;           // a daemon runs, and has taken the server
  bool tested = false;             // ... and has started it
  std::string location;            // of a tested server: "jail", "host", "remote"
  std::string problem;             // why it does not start; empty
  std::vector<std::string> tools;  // of a tested server
};

// Asked before a file is changed: whether the daemon on the bus reads the configuration and, with --call, the policies
// that this command changes. Errors: invalid, naming the files of both, and the flag that helps.
Result<> check_daemons_files(const ParsedCommand& command, const RunningDaemon& daemon, const ServerDropIns& files);
// Errors: nothing stays written: the entry has a mistake, or the reload failed.
Result<AddedServer> add_entry(const ParsedCommand& command, const std::string& name, const Json& entry,
                              NameConflict on_conflict);
// Starts the server through the daemon. Errors: only those of D-Bus; a server that does not start has a problem.
Result<> start_added(const RunningDaemon& daemon, AddedServer& server);
// Prints the result (without `file`: of a test), writes the rule of --call, and says what the policies allow. Returns
// the exit status: 1 if the server does not start.
Result<int> report_added(const ParsedCommand& command, const AddedServer& server);
// Errors: invalid: the value of --call.
Result<> check_call_flag(const ParsedCommand& command);
// "KEY=VALUE" flags as an object. Errors: invalid.
Result<Json> pairs_of(const std::vector<std::string>& flags, const char* flag);
// Sets env, secrets and folder of a command's entry from the flags.
Result<> take_entry_flags(const ParsedCommand& command, Json& entry);

}  // namespace admin
