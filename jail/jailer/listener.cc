#include "jail/jailer/listener.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "jail/jailer/jailed_child.h"
#include "jail/orders.h"

namespace jail {
namespace {

constexpr int kWaitingConnections = 128;
constexpr size_t kStackBytes = 64 << 10;

struct ListenerSocket {
  int init = -1;
  int listener = -1;
  int error = 0;
};

int listen_in_jail(ListenerSocket& created) {
  if (const int error = enter_jail(created.init, CLONE_NEWUSER | CLONE_NEWNET)) return error;
  Fd listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener) return errno;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(kEgressPort);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) < 0 ||
      listen(listener.get(), kWaitingConnections) < 0)
    return errno;
  // For a session: its listener stops between two calls, and could not begin again while connections of the call before
  // are remembered (TIME_WAIT). While it listens, no other socket gets the port.
  const int is_reusable = 1;
  if (setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &is_reusable, sizeof is_reusable) < 0) return errno;
  created.listener = listener.release();
  return 0;
}

int run_child(void* argument) {
  auto* created = static_cast<ListenerSocket*>(argument);
  created->error = listen_in_jail(*created);
  end_in_jail();
}

}  // namespace

// The child shares memory and descriptors, so that the socket is here when it has ended. The jailer itself could not
// come back to its own network namespace if it has no capability over it.
Fd make_listener(int init, int& error) {
  ListenerSocket created;
  created.init = init;
  void* stack = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (stack == MAP_FAILED) {
    error = errno;
    return {};
  }
  // Without SIGCHLD, which the jailer ignores, the child can be waited for.
  const int child =
      clone(run_child, static_cast<char*>(stack) + kStackBytes, CLONE_VM | CLONE_FILES | CLONE_VFORK, &created);
  error = child < 0 ? errno : created.error;
  if (child > 0 && waitpid(child, nullptr, __WALL) != child) error = errno;
  munmap(stack, kStackBytes);
  // The child has cleared this for the memory that it shared, which it no longer uses. The jailer's next children need
  // it: the files of a process below /proc belong to root otherwise, and an ordinary user's jailer could not write
  // their id maps.
  if (prctl(PR_SET_DUMPABLE, 1) < 0 && error == 0) error = errno;
  if (error == 0 && created.listener < 0) error = EIO;  // the child was killed
  return Fd(created.listener);
}

}  // namespace jail
