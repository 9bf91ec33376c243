// The socket of --listen, and the token of its clients over TCP.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <cstring>

#include "supervisor/base/loopback.h"
#include "supervisor/programs/agent/task_server.h"

namespace agent {
namespace {

constexpr std::string_view kUnixPrefix = "unix:";
constexpr int kWaitingClients = 64;
constexpr size_t kMinTokenBytes = 16;

// Removes the socket of a server that has ended. Errors: unavailable: a server listens, or the file is no socket.
Result<> remove_stale_socket(const std::string& path, const sockaddr_un& address) {
  struct stat about {};
  if (::lstat(path.c_str(), &about) < 0) return {};
  if (!S_ISSOCK(about.st_mode))
    return fail(Code::unavailable, "--listen: '" + path + "' exists and is not a socket", "choose another path");
  const Fd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 || errno != ECONNREFUSED)
    return fail(Code::unavailable, "--listen: another process listens on '" + path + "'",
                "stop that process, or choose another path");
  (void)::unlink(path.c_str());
  return {};
}

Result<Fd> listen_on_path(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path)
    return fail(Code::invalid, "--listen: the path has not 1 to 107 bytes", "for example unix:/run/agent/tasks.sock");
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  CHECKED(remove_stale_socket(path, address));
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return fail_errno(errno, "make a socket");
  const mode_t before = ::umask(0177);  // the mode of the file decides who may connect
  const int bound = ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  const int err = errno;
  ::umask(before);
  if (bound < 0) return fail_errno(err, "--listen: bind '" + path + "'", Code::unavailable);
  if (::listen(socket.get(), kWaitingClients) < 0) return fail_errno(errno, "--listen: listen on '" + path + "'");
  return socket;
}

}  // namespace

Result<TaskSocket> open_task_socket(const std::string& where) {
  if (where.starts_with(kUnixPrefix)) {
    const std::string path = where.substr(kUnixPrefix.size());
    TRY(Fd socket, listen_on_path(path));
    return TaskSocket{std::move(socket), path, {}};
  }
  auto address = parse_loopback(where);
  if (!address) {
    Error error = std::move(address).error().within("--listen");
    error.hint = "give unix:PATH, or a port of this machine: 127.0.0.1:3000";
    return tl::unexpected(std::move(error));
  }
  TRY(Fd socket, listen_on(*address));
  return TaskSocket{std::move(socket), {}, address->text()};
}

Result<std::string> read_task_token(const std::string& path) {
  struct stat about {};
  if (::stat(path.c_str(), &about) < 0) return fail_errno(errno, "--token-file: '" + path + "'", Code::invalid);
  if ((about.st_mode & 077) != 0)
    return fail(Code::invalid, "--token-file: other users may read '" + path + "'", "chmod 600 " + path);
  TRY(std::string token, read_secret_file(path, "--token-file"));
  const bool is_plain = std::all_of(token.begin(), token.end(), [](unsigned char c) { return c > ' ' && c < 0x7f; });
  if (!is_plain || token.size() < kMinTokenBytes)
    return fail(Code::invalid, "--token-file: '" + path + "' has no token of at least 16 visible characters",
                "openssl rand -hex 32 makes one");
  return token;
}

}  // namespace agent
