// Raises `lo`, the only interface in the jail's network namespace. Source: netdevice(7), tcp(7).
#include <fcntl.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "jail/init/steps.h"

namespace jail::init {
namespace {

// Without a cgroup, the memory of sockets is estimated as their number times the most that each can hold
// (jail/process_tree.h). So TCP buffers may not grow beyond the default of other sockets. /proc is still the host's
// here, but these files belong to the jail's network namespace.
int limit_tcp_buffers() {
  constexpr const char* kFiles[] = {"/proc/sys/net/ipv4/tcp_wmem", "/proc/sys/net/ipv4/tcp_rmem"};
  constexpr char kSizes[] = "4096 65536 212992";  // min, initial, max
  for (const char* file : kFiles) {
    int fd = open(file, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return errno;
    int error = write(fd, kSizes, sizeof kSizes - 1) == sizeof kSizes - 1 ? 0 : errno;
    close(fd);
    if (error != 0) return error;
  }
  return 0;
}

}  // namespace

int raise_loopback() {
  if (plan->memory_uncounted != 0) {
    if (int error = limit_tcp_buffers()) return error;
  }
  int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return errno;
  ifreq interface {
    .ifr_ifrn = {.ifrn_name = "lo"}, .ifr_ifru = {}
  };
  interface.ifr_flags = IFF_UP;
  int error = outcome_of(ioctl(socket, SIOCSIFFLAGS, &interface));
  close(socket);
  return error;
}

}  // namespace jail::init
