#include "tests/jail/planted_network.h"

#include <linux/fib_rules.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netlink/netlink.h>
#include <netlink/route/addr.h>
#include <netlink/route/link.h>
#include <netlink/route/neighbour.h>
#include <netlink/route/nexthop.h>
#include <netlink/route/route.h>
#include <netlink/route/rule.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cstring>
#include <memory>

namespace {

constexpr int kLo = 1;

template <auto kFree>
struct FreeBy {
  template <class Object>
  void operator()(Object* object) const {
    kFree(object);
  }
};
using Socket = std::unique_ptr<nl_sock, FreeBy<nl_socket_free>>;
using Address = std::unique_ptr<nl_addr, FreeBy<nl_addr_put>>;

Socket connected() {
  Socket socket(::nl_socket_alloc());
  if (::nl_connect(socket.get(), NETLINK_ROUTE) < 0) socket.reset();
  return socket;
}

Address parsed(const char* text, int family = AF_UNSPEC) {
  nl_addr* address = nullptr;
  ::nl_addr_parse(text, family, &address);
  return Address(address);
}

std::string reason(int status) { return status < 0 ? ::nl_geterror(status) : ""; }

}  // namespace

Fd open_netlink() { return Fd(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE)); }

std::string raise_lo() {
  const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq interface {};
  std::strcpy(interface.ifr_name, "lo");
  interface.ifr_flags = IFF_UP;
  return ::ioctl(socket.get(), SIOCSIFFLAGS, &interface) < 0 ? "lo cannot be raised" : "";
}

std::string plant_link() {
  const Socket socket = connected();
  std::string why = "no netlink socket";
  for (const char* kind : {"dummy", "bridge", "veth", "ifb", "tun"}) {
    const std::unique_ptr<rtnl_link, FreeBy<rtnl_link_put>> link(::rtnl_link_alloc());
    ::rtnl_link_set_name(link.get(), "planted");
    if (!socket || ::rtnl_link_set_type(link.get(), kind) < 0) continue;
    why = reason(::rtnl_link_add(socket.get(), link.get(), NLM_F_CREATE));
    if (why.empty()) return {};
  }
  return why;
}

std::string plant_address() {
  const Socket socket = connected();
  const std::unique_ptr<rtnl_addr, FreeBy<rtnl_addr_put>> address(::rtnl_addr_alloc());
  ::rtnl_addr_set_ifindex(address.get(), kLo);
  ::rtnl_addr_set_local(address.get(), parsed("192.0.2.1/32").get());
  return reason(::rtnl_addr_add(socket.get(), address.get(), 0));
}

std::string plant_route() {
  const Socket socket = connected();
  const std::unique_ptr<rtnl_route, FreeBy<rtnl_route_put>> route(::rtnl_route_alloc());
  ::rtnl_route_set_family(route.get(), AF_INET);
  ::rtnl_route_set_dst(route.get(), parsed("198.51.100.0/24").get());
  ::rtnl_route_set_scope(route.get(), RT_SCOPE_LINK);
  rtnl_nexthop* hop = ::rtnl_route_nh_alloc();
  ::rtnl_route_nh_set_ifindex(hop, kLo);
  ::rtnl_route_add_nexthop(route.get(), hop);
  return reason(::rtnl_route_add(socket.get(), route.get(), NLM_F_CREATE));
}

std::string plant_neighbour() {
  const Socket socket = connected();
  const std::unique_ptr<rtnl_neigh, FreeBy<rtnl_neigh_put>> neighbour(::rtnl_neigh_alloc());
  ::rtnl_neigh_set_ifindex(neighbour.get(), kLo);
  ::rtnl_neigh_set_dst(neighbour.get(), parsed("203.0.113.9").get());
  ::rtnl_neigh_set_lladdr(neighbour.get(), parsed("02:00:00:00:00:01", AF_LLC).get());
  ::rtnl_neigh_set_state(neighbour.get(), NUD_PERMANENT);
  return reason(::rtnl_neigh_add(socket.get(), neighbour.get(), NLM_F_CREATE));
}

std::string plant_rule() {
  const Socket socket = connected();
  const std::unique_ptr<rtnl_rule, FreeBy<rtnl_rule_put>> rule(::rtnl_rule_alloc());
  ::rtnl_rule_set_family(rule.get(), AF_INET);
  ::rtnl_rule_set_table(rule.get(), 100);
  ::rtnl_rule_set_prio(rule.get(), 77);
  ::rtnl_rule_set_action(rule.get(), FR_ACT_TO_TBL);
  return reason(::rtnl_rule_add(socket.get(), rule.get(), NLM_F_CREATE));
}
