// Raises `lo`, the only interface in the jail's network namespace. Source: netdevice(7), tcp(7), rtnetlink(7).
#include <fcntl.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "jail/init/steps.h"

namespace jail::init {
namespace {

// Without a cgroup, the memory of sockets is estimated as their number times the most that each can hold
// (jail/usage/process_tree.h). So TCP buffers may not grow beyond the default of other sockets. These files belong to
// the jail's network namespace.
int limit_tcp_buffers() {
  constexpr const char* kFiles[] = {"mount/proc/sys/net/ipv4/tcp_wmem", "mount/proc/sys/net/ipv4/tcp_rmem"};
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

// Sends the daemon a socket that lists what this namespace holds: links, addresses, routes, neighbours and rules. The
// socket is opened here because it belongs to the namespace of the process that opens it, and nobody outside needs a
// capability for that. It is closed before the runner is forked. A socket that cannot be opened is no failure of the
// jail: the report has the reason.
int show_network() {
  InitReport report{};
  report.event = InitEvent::network;
  int socket = ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
  sockaddr_nl name{};
  name.nl_family = AF_NETLINK;
  if (socket < 0 || bind(socket, reinterpret_cast<sockaddr*>(&name), sizeof name) < 0) report.error = errno;
  iovec part{&report, sizeof report};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof socket)] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (report.error == 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof socket);
    memcpy(CMSG_DATA(header), &socket, sizeof socket);
  }
  int error = sendmsg(kControlFd, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof report) ? 0 : errno;
  if (socket >= 0) close(socket);
  return error;
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
  if (error == 0 && plan->shows_network != 0) error = show_network();
  return error;
}

}  // namespace jail::init
