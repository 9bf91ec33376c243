#include "supervisor/base/only_loopback.h"

#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <fstream>
#include <string>

#include "supervisor/base/fd.h"
#include "supervisor/base/trimmed.h"

// By ioctl(2), because the daemon of a service may open no netlink socket (supervisor/privileges.h).
bool only_loopback() {
  std::ifstream interfaces("/proc/self/net/dev");
  const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!interfaces || !socket) return false;
  for (std::string line; std::getline(interfaces, line);) {
    const size_t colon = line.find(':');  // not in the two lines of headings
    const std::string_view name = trimmed(std::string_view(line).substr(0, colon));
    ifreq request{};
    if (colon == line.npos || name.size() >= sizeof request.ifr_name) continue;
    name.copy(request.ifr_name, name.size());
    if (::ioctl(socket.get(), SIOCGIFFLAGS, &request) < 0) continue;
    if ((request.ifr_flags & IFF_UP) != 0 && (request.ifr_flags & IFF_LOOPBACK) == 0) return false;
  }
  return !interfaces.bad();
}
