// resolve(): finds the addresses of a host with c-ares, in the daemon's process and on its event loop: in /etc/hosts
// and from the name servers of /etc/resolv.conf, in the order of `hosts` in /etc/nsswitch.conf. No other module of
// nsswitch.conf is asked.
// Source: a host of a URL. Used by: Exchange.
// Errors: invalid (no name of a host), unavailable (not found, not in time).
#pragma once
#include <chrono>
#include <string>
#include <vector>

#include "supervisor/base/loop.h"
#include "supervisor/base/result.h"

namespace http {

inline constexpr size_t kMaxAddresses = 8;

// unused: a name is looked up as it is, without the search domains of /etc/resolv.conf.
enum class SearchDomains { used, unused };

// Returns numeric addresses without zones, at least one, in the order in which to try them. Lookups do not wait for
// each other. A cancelled call ends its own lookup at once. `servers`: name servers in place of the system's, for
// example "127.0.0.1:5353"; empty: the system's.
Task<Result<std::vector<std::string>>> resolve(Loop& loop, std::string host, std::chrono::milliseconds limit,
                                               std::string servers = {}, SearchDomains search = SearchDomains::used);

}  // namespace http
