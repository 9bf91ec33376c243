// ServerStatus: one upstream server as administrators see it: where it runs, its tools, its last problem.
// Source: UpstreamServers::statuses(). Shown by: server_methods.cc. Plain data.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace upstream {

struct ServerStatus {
  // unknown: never started, so its tools are unknown. idle: its tools are known, and no process or connection exists.
  // failed: the last start failed, or the server ended by itself, and it was not started again since.
  enum class State { unknown, starting, running, idle, failed };
  std::string name;
  std::string kind;      // "command" or "http"
  std::string location;  // "jail", "host" (as the daemon's user), or "remote"
  State state = State::unknown;
  std::vector<std::string> tools;  // names, sorted
  uint32_t connections = 0;        // tenants that it runs for now
  std::string problem;             // of the last start, or why it ended; empty after a good start
  std::string imported_from;       // the file of a client; empty: the daemon's own configuration
  // none: it needs no login. needed: nobody has logged in. own_account: the daemon logs in by itself.
  enum class Login { none, needed, present, own_account };
  Login login = Login::none;
  uint32_t logins = 0;         // one for each tenant, or one for all
  uint64_t login_until_s = 0;  // seconds since 1970, of a shared login that cannot be renewed; 0: not known, or renewed
};

constexpr std::string_view state_name(ServerStatus::State state) {
  constexpr std::string_view kNames[] = {"unknown", "starting", "running", "idle", "failed"};
  return kNames[static_cast<unsigned>(state)];
}

constexpr std::string_view login_name(ServerStatus::Login login) {
  constexpr std::string_view kLoginNames[] = {"", "needed", "present", "own account"};
  return kLoginNames[static_cast<unsigned>(login)];
}

}  // namespace upstream
