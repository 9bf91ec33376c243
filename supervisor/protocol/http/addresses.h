// Kinds of addresses: which of the addresses of a host may be dialled.
// Source: answers of name servers, which are not trusted. Used by: supervisor/egress, before the proxy dials;
// exchange.cc, for requests to hosts that a server named.
#pragma once
#include <string>
#include <string_view>

namespace http {

enum class AddressKind {
  public_unicast,  // any host of the internet
  private_use,     // private networks; a rule with "private" allows them
  loopback,        // this machine; a rule with "loopback" allows it
  forbidden,       // addresses of no host: multicast, reserved, link-local; and of cloud metadata services
};

// The kind of a numeric address without a zone. IPv4 inside IPv6 (mapped, NAT64) has the kind of the IPv4 address;
// other transition mechanisms (6to4, Teredo) are forbidden. Any other text is forbidden. Sources: the IANA
// special-purpose address registries for IPv4 and IPv6 (RFC 6890); IPv6 outside 2000::/3 is not allocated for hosts of
// the internet.
AddressKind kind_of_address(std::string_view text);

// Whether this machine has the address: a name may lead to services here that only a firewall outside hides.
bool is_own_address(std::string_view text);

// "10.1.2.3 is in a private network"
std::string why_refused(std::string_view text);

}  // namespace http
