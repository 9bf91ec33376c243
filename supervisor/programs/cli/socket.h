// Socket: the path of warderd's socket, the connection to it, and the remedy when it cannot be reached.
// Source: --socket, the environment. Used by: stdio_proxy.cc, run.cc, config.cc.
#pragma once
#include <string>

#include "supervisor/base/fd.h"
#include "supervisor/base/result.h"

namespace cli {

inline constexpr char kSystemSocket[] = "/run/warder/mcp.sock";

// How a path was found. A path that the user asked for belongs into a client's configuration, a default path does not.
enum class SocketSource { requested, user, system };

struct SocketPath {
  std::string path;
  SocketSource source = SocketSource::system;
};

// `flag` (made absolute), else $WARDER_SOCKET, else $XDG_RUNTIME_DIR/warder/mcp.sock if it exists, else kSystemSocket.
SocketPath find_socket(const std::string& flag);

// A connected, non-blocking, close-on-exec stream.
// Errors: unavailable, "connect to warderd at '/run/warder/mcp.sock': No such file or directory"; the hint is
//         start_hint(), or for EACCES the group to join. invalid: the path is too long for a socket address.
Result<Fd> connect_daemon(const SocketPath& socket);

// The command that starts the daemon behind this socket: "sudo systemctl start warder.socket".
std::string start_hint(const SocketPath& socket);

// The remedy where no daemon answers: how to start it, and where its service says why it does not start.
std::string daemon_hint(const SocketPath& socket);

// The absolute path of this program; "warder" if /proc cannot be read.
std::string own_path();

}  // namespace cli
