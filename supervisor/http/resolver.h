// resolve(): finds the addresses of a host with getent(1), a child process. So nsswitch.conf applies, the daemon starts
// no thread (libcurl's resolver starts one for each name), and a hanging lookup is ended with the process.
// Source: a host of a URL. Used by: Exchange.
// Errors: invalid (no name of a host), unavailable (not found, not in time).
#pragma once
#include <chrono>
#include <string>
#include <vector>

#include "supervisor/base/loop.h"
#include "supervisor/base/result.h"

namespace http {

inline constexpr size_t kMostAddresses = 8;

// Returns numeric addresses, at least one, in the order in which to try them. A cancelled call ends the process.
Task<Result<std::vector<std::string>>> resolve(Loop& loop, std::string host, std::chrono::milliseconds limit);
// Reads the addresses from the output of `getent ahosts`; at most kMostAddresses.
std::vector<std::string> read_addresses(std::string_view printed);

}  // namespace http
