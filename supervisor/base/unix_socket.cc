#include "supervisor/base/unix_socket.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

Result<Fd> connect_unix(const std::string& path, int type) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty()) return fail(Code::invalid, "the path of the socket is empty");
  if (path.size() >= sizeof address.sun_path) return fail(Code::invalid, "the path has more than 107 bytes");
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  Fd created(::socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!created) return fail_errno(errno, "make a socket");
  if (::connect(created.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) < 0)
    return fail_errno(errno, "connect to '" + path + "'", Code::unavailable);
  return created;
}
