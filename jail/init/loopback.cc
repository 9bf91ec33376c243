// The network namespace holds `lo` and nothing else; this raises it. rtnetlink(7) by libnl.
#include <linux/if.h>
#include <linux/rtnetlink.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>

#include "jail/init/steps.h"

namespace jail::init {

int raise_loopback() {
  nl_sock* socket = nl_socket_alloc();
  if (!socket) return ENOMEM;
  int error = nl_connect(socket, NETLINK_ROUTE);
  if (error >= 0) {
    ifinfomsg link{};
    link.ifi_family = AF_UNSPEC;
    link.ifi_index = 1;  // lo is the first interface of every network namespace
    link.ifi_flags = IFF_UP;
    link.ifi_change = IFF_UP;
    error = nl_send_simple(socket, RTM_NEWLINK, NLM_F_REQUEST | NLM_F_ACK, &link, sizeof link);
    if (error >= 0) error = nl_wait_for_ack(socket);
  }
  nl_socket_free(socket);
  return error < 0 ? ENETDOWN : 0;
}

}  // namespace jail::init
