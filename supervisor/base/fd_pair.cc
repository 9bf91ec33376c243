#include "supervisor/base/fd_pair.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

Result<FdPair> make_pipe(Code code) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) < 0) return fail_errno(errno, "pipe", code);
  FdPair pair{Fd(ends[0]), Fd(ends[1])};
  if (::fcntl(pair.ours.get(), F_SETFL, O_NONBLOCK) < 0) return fail_errno(errno, "pipe");
  return pair;
}

Result<FdPair> make_sockets(int type, Code code) {
  int ends[2];
  if (::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends) < 0) return fail_errno(errno, "socketpair", code);
  FdPair pair{Fd(ends[0]), Fd(ends[1])};
  if (::fcntl(pair.ours.get(), F_SETFL, O_NONBLOCK) < 0) return fail_errno(errno, "socketpair");
  return pair;
}
