// The network namespace holds `lo` and nothing else; this raises it. Source: netdevice(7).
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "jail/init/steps.h"

namespace jail::init {

int raise_loopback() {
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
