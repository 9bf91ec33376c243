#include "supervisor/protocol/http/web_origin.h"

#include <algorithm>

#include "supervisor/base/ascii.h"
#include "supervisor/base/loopback.h"

namespace http {
namespace {

// The host without its port.
std::string_view name_of(std::string_view host) {
  const size_t colon = host.rfind(':');
  return colon == host.npos || host.ends_with(']') ? host : host.substr(0, colon);
}

bool names_this_machine(const std::string& host, std::string_view own_address) {
  return is_loopback_host(host) || (!own_address.empty() && host == own_address);
}

}  // namespace

bool is_own_host(std::string_view host, std::string_view own_address, const std::vector<std::string>& hosts) {
  const std::string request = lower_case(host);
  if (names_this_machine(request, own_address)) return true;
  return std::any_of(hosts.begin(), hosts.end(), [&](const std::string& existing) {
    const std::string name = lower_case(existing);
    return request == name || name_of(request) == name;
  });
}

bool is_own_origin(std::string_view origin, std::string_view host, std::string_view own_address,
                   const std::vector<std::string>& origins) {
  const std::string page = lower_case(origin), requested = lower_case(host);
  if (std::any_of(origins.begin(), origins.end(), [&](const std::string& name) { return page == lower_case(name); }))
    return true;
  if (!names_this_machine(requested, own_address)) return false;
  return page == "http://" + requested || page == "https://" + requested;
}

}  // namespace http
