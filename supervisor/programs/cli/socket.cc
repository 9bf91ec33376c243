#include "supervisor/programs/cli/socket.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "supervisor/base/environment.h"

namespace cli {
namespace {

std::string absolute(const std::string& path) {
  std::error_code ignored;
  auto full = std::filesystem::absolute(path, ignored).lexically_normal().string();
  return full.empty() ? path : full;
}

// The path of warderd in the same build tree or under the same prefix as this program; else the name "warderd".
std::string daemon_beside() {
  const std::filesystem::path here = std::filesystem::path(own_path()).parent_path();
  for (const char* candidate : {"warderd", "../warderd", "../sbin/warderd", "../libexec/warderd"}) {
    const auto path = (here / candidate).lexically_normal();
    if (::access(path.c_str(), X_OK) == 0 && !std::filesystem::is_directory(path)) return path.string();
  }
  return "warderd";
}

// Where a service that does not start says why. Empty for a daemon that is no service.
std::string log_hint(const SocketPath& socket) {
  if (socket.source == SocketSource::user) return "; if it does not start: journalctl --user -u warder";
  const bool system = socket.source == SocketSource::system || socket.path == kSystemSocket;
  return system ? "; if it does not start: journalctl -u warder" : "";
}

}  // namespace

SocketPath find_socket(const std::string& flag) {
  if (!flag.empty()) return {absolute(flag), SocketSource::requested};
  if (const auto request = environment("WARDER_SOCKET"); !request.empty())
    return {absolute(request), SocketSource::requested};
  if (const auto runtime = environment("XDG_RUNTIME_DIR"); !runtime.empty()) {
    std::string path = runtime + "/warder/mcp.sock";
    if (::access(path.c_str(), F_OK) == 0) return {std::move(path), SocketSource::user};
  }
  return {kSystemSocket, SocketSource::system};
}

Result<Fd> connect_daemon(const SocketPath& socket) {
  const std::string subject = "connect to warderd at '" + socket.path + "'";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket.path.size() >= sizeof address.sun_path)
    return fail(Code::invalid,
                subject + ": the path is longer than " + std::to_string(sizeof address.sun_path - 1) + " bytes",
                "use a shorter path, for example under /run or /tmp");
  std::memcpy(address.sun_path, socket.path.c_str(), socket.path.size() + 1);
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return fail_errno(errno, "make a socket");
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return fd;
  const int err = errno;
  auto failed = fail_errno(err, subject, Code::unavailable);
  failed.value().hint = err == EACCES
                            ? "your user may not use this socket: ask to join the group that owns it (sudo usermod "
                              "-aG warder $USER, then log in again)"
                            : daemon_hint(socket);
  return failed;
}

std::string start_hint(const SocketPath& socket) {
  switch (socket.source) {
    case SocketSource::system:
      return "sudo systemctl start warder.socket";
    case SocketSource::user:
      return "systemctl --user start warder.socket";
    case SocketSource::requested:
      break;
  }
  if (socket.path == kSystemSocket) return "sudo systemctl start warder.socket";
  return daemon_beside() + " --socket " + socket.path;
}

std::string daemon_hint(const SocketPath& socket) { return "start it with: " + start_hint(socket) + log_hint(socket); }

std::string own_path() {
  char path[PATH_MAX];
  const ssize_t size = ::readlink("/proc/self/exe", path, sizeof path);
  return size > 0 ? std::string(path, static_cast<size_t>(size)) : "warder";
}

}  // namespace cli
