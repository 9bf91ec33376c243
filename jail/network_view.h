// NetworkView: what a network namespace holds, as the kernel lists it over rtnetlink(7), read by libnl. A jail's holds
// the interface lo alone.
// Source: a socket that a jail's init opened in that namespace. The holder of the socket may read, and change nothing:
// changes need CAP_NET_ADMIN over the namespace.
// Used by: jail/execution/self_test.cc. Errors: unavailable, naming the list that the kernel does not give.
#pragma once
#include <string>
#include <vector>

#include "supervisor/base/fd.h"
#include "supervisor/base/result.h"

namespace jail {

struct NetworkView {
  int links = 0, addresses = 0, routes = 0, neighbours = 0, rules = 0;
  // What does not belong to a namespace with lo only, for example "link dummy0" or "route 192.0.2.0/24 in table 254".
  // At most kMaxForeign entries.
  std::vector<std::string> foreign;
};
constexpr size_t kMaxForeign = 16;

// `netlink`: a socket of the family AF_NETLINK and the protocol NETLINK_ROUTE. No call waits.
Result<NetworkView> view_network(Fd netlink);

// "1 link, 2 addresses, 5 routes, 0 neighbours, 5 rules"
std::string counts_of(const NetworkView& view);

}  // namespace jail
