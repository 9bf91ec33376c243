#include "jail/network_view.h"

#include <fmt/format.h>
#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netlink/cache.h>
#include <netlink/netlink.h>
#include <netlink/route/addr.h>
#include <netlink/route/link.h>
#include <netlink/route/neighbour.h>
#include <netlink/route/nexthop.h>
#include <netlink/route/route.h>
#include <netlink/route/rule.h>
#include <netlink/socket.h>

#include <cstring>
#include <memory>

namespace jail {
namespace {

constexpr int kLoopback = 1;  // the index of lo in every network namespace

struct NetlinkFree {
  void operator()(nl_sock* socket) const { ::nl_socket_free(socket); }
  void operator()(nl_cache* cache) const { ::nl_cache_free(cache); }
};
using NetlinkSocket = std::unique_ptr<nl_sock, NetlinkFree>;

std::string address_name(nl_addr* address) {
  char text[128] = "none";
  return address ? ::nl_addr2str(address, text, sizeof text) : text;
}

// Whether an address or a range lies within 127.0.0.0/8 or is ::1.
bool is_loopback_address(nl_addr* address) {
  if (!address) return false;
  const auto* bytes = static_cast<const unsigned char*>(::nl_addr_get_binary_addr(address));
  const unsigned size = ::nl_addr_get_len(address), prefix = ::nl_addr_get_prefixlen(address);
  if (::nl_addr_get_family(address) == AF_INET) return size == 4 && bytes[0] == IN_LOOPBACKNET && prefix >= 8;
  return ::nl_addr_get_family(address) == AF_INET6 && size == 16 && prefix == 128 &&
         std::memcmp(bytes, &in6addr_loopback, 16) == 0;
}

bool is_known_link(rtnl_link* link) {
  return ::rtnl_link_get_ifindex(link) == kLoopback && (::rtnl_link_get_flags(link) & IFF_LOOPBACK) != 0;
}
std::string link_name(rtnl_link* link) {
  const char* name = ::rtnl_link_get_name(link);
  return fmt::format("link {}", name ? name : "without a name");
}

bool is_known_address(rtnl_addr* address) {
  return ::rtnl_addr_get_ifindex(address) == kLoopback && is_loopback_address(::rtnl_addr_get_local(address));
}
std::string host_address_name(rtnl_addr* address) {
  return fmt::format("address {}", address_name(::rtnl_addr_get_local(address)));
}

bool is_known_route(rtnl_route* route) {
  const uint8_t type = ::rtnl_route_get_type(route);
  if (type == RTN_UNREACHABLE || type == RTN_BLACKHOLE || type == RTN_PROHIBIT) return true;  // leads nowhere
  if (!is_loopback_address(::rtnl_route_get_dst(route))) return false;
  const int hops = ::rtnl_route_get_nnexthops(route);
  for (int i = 0; i < hops; i++) {
    rtnl_nexthop* hop = ::rtnl_route_nexthop_n(route, i);
    if (::rtnl_route_nh_get_ifindex(hop) != kLoopback || ::rtnl_route_nh_get_gateway(hop)) return false;
  }
  return hops > 0;
}
std::string route_name(rtnl_route* route) {
  return fmt::format("route {} in table {}", address_name(::rtnl_route_get_dst(route)), ::rtnl_route_get_table(route));
}

// The kernel lists one entry for lo itself, of the state that needs no question, once lo was used.
bool is_known_neighbour(rtnl_neigh* neighbour) {
  return ::rtnl_neigh_get_ifindex(neighbour) == kLoopback && ::rtnl_neigh_get_state(neighbour) == NUD_NOARP;
}
std::string neighbour_name(rtnl_neigh* neighbour) {
  return fmt::format("neighbour {}", address_name(::rtnl_neigh_get_dst(neighbour)));
}

// Known are the rules of every namespace: all packets by the tables local, main and default.
bool is_known_rule(rtnl_rule* rule) {
  const uint32_t table = ::rtnl_rule_get_table(rule);
  return ::rtnl_rule_get_action(rule) == FR_ACT_TO_TBL && table >= RT_TABLE_DEFAULT && table <= RT_TABLE_LOCAL &&
         !::rtnl_rule_get_src(rule) && !::rtnl_rule_get_dst(rule) && !::rtnl_rule_get_iif(rule) &&
         !::rtnl_rule_get_oif(rule) && ::rtnl_rule_get_mark(rule) == 0;
}
std::string rule_name(rtnl_rule* rule) {
  return fmt::format("rule {} to table {}", ::rtnl_rule_get_prio(rule), ::rtnl_rule_get_table(rule));
}

// Counts the objects of one list, and names those that are not known. `status`: of the call that made the cache.
template <class Object>
Result<> judge_list(int status, nl_cache* list, const char* kind, int& count, bool (*is_known)(Object*),
                    std::string (*name_of)(Object*), NetworkView& view) {
  const std::unique_ptr<nl_cache, NetlinkFree> owned(status < 0 ? nullptr : list);
  if (!owned)
    return fail(Code::unavailable, fmt::format("the kernel does not list {}: {}", kind, ::nl_geterror(status)));
  for (nl_object* item = ::nl_cache_get_first(list); item; item = ::nl_cache_get_next(item)) {
    auto* object = reinterpret_cast<Object*>(item);
    count++;
    if (!is_known(object) && view.foreign.size() < kMaxForeign) view.foreign.push_back(name_of(object));
  }
  return {};
}

}  // namespace

Result<NetworkView> view_network(Fd netlink) {
  NetlinkSocket socket(::nl_socket_alloc());
  if (!socket) return fail(Code::exhausted, "no memory for a netlink socket");
  if (int status = ::nl_socket_set_fd(socket.get(), NETLINK_ROUTE, netlink.get()); status < 0)
    return fail(Code::unavailable, fmt::format("use a netlink socket: {}", ::nl_geterror(status)));
  (void)netlink.release();  // the socket's now
  if (::nl_socket_set_nonblocking(socket.get()) < 0) return fail(Code::internal, "make a netlink socket non-blocking");
  NetworkView view;
  nl_cache* list = nullptr;
  int status = ::rtnl_link_alloc_cache(socket.get(), AF_UNSPEC, &list);
  CHECKED(judge_list<rtnl_link>(status, list, "links", view.links, is_known_link, link_name, view));
  status = ::rtnl_addr_alloc_cache(socket.get(), &list);
  CHECKED(judge_list<rtnl_addr>(status, list, "addresses", view.addresses, is_known_address, host_address_name, view));
  status = ::rtnl_route_alloc_cache(socket.get(), AF_UNSPEC, 0, &list);
  CHECKED(judge_list<rtnl_route>(status, list, "routes", view.routes, is_known_route, route_name, view));
  status = ::rtnl_neigh_alloc_cache(socket.get(), &list);
  CHECKED(
      judge_list<rtnl_neigh>(status, list, "neighbours", view.neighbours, is_known_neighbour, neighbour_name, view));
  status = ::rtnl_rule_alloc_cache(socket.get(), AF_UNSPEC, &list);
  CHECKED(judge_list<rtnl_rule>(status, list, "rules", view.rules, is_known_rule, rule_name, view));
  return view;
}

std::string counts_of(const NetworkView& view) {
  auto many = [](int count, std::string_view name, std::string_view more) {
    return fmt::format("{} {}", count, count == 1 ? name : more);
  };
  return fmt::format("{}, {}, {}, {}, {}", many(view.links, "link", "links"),
                     many(view.addresses, "address", "addresses"), many(view.routes, "route", "routes"),
                     many(view.neighbours, "neighbour", "neighbours"), many(view.rules, "rule", "rules"));
}

}  // namespace jail
