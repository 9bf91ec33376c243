// Reload exchange: how `warderd --reload` learns the result of a reload from the running daemon, also without D-Bus.
// The asker writes a word to reload.request in the state folder, which belongs to the user that started the daemon, and
// sends SIGHUP. The daemon reads the word when the reload begins, and writes it with the result to reload/answer; the
// folder reload/ belongs to the daemon. So an answer with the asker's word is of a reload that began after the request.
// Errors: unavailable: no daemon runs, it ended before the answer, or it does not answer in time, in which case it
// reloads later; others of the file system.
#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "supervisor/base/result.h"
#include "supervisor/daemon/configuration/files_in_force.h"
#include "supervisor/daemon/configuration/start_view.h"

namespace configuration {

struct ReloadAnswer {
  bool good = false;
  std::vector<std::string> lines;     // problems, or what takes effect at the next restart
  std::optional<FilesInForce> files;  // of the daemon; nullopt: it is of a version that does not tell
};

// The daemon's side. Both touch the disk. An empty word: nobody asks.
std::string read_reload_request(const std::string& state);
Result<> write_reload_answer(const std::string& state, const std::string& word, const ReloadAnswer& answer);

// The sockets of the running daemon, in reload/sockets. The daemon writes them after its start and after a reload, and
// a check reads them. A false answer of the daemon only makes a check say that an address is in use, or is free.
Result<> write_held_sockets(const std::string& state, const HeldSockets& sockets);
Result<HeldSockets> read_held_sockets(const std::string& state);

// Whether a daemon runs with this state folder. No folder: no daemon.
Result<bool> is_daemon_running(const std::string& state);
// The asker's side: waits for the answer. `socket`: of the daemon, to find its process if systemd has not named it
// ($MAINPID, systemd.exec(5)).
Result<ReloadAnswer> ask_for_reload(const std::string& state, const std::string& socket, std::chrono::seconds limit);

}  // namespace configuration
