// The addresses of a host, asked of getent(1): whatever nsswitch.conf says counts, no thread is started for it in the
// daemon (libcurl's own resolver starts one for each name), and a name server that hangs is ended with the process.
// Source: a host of a URL. Errors: invalid (no name of a host), unavailable (not found, not in time).
#pragma once
#include <chrono>
#include <string>
#include <vector>

#include "supervisor/base/loop.h"
#include "supervisor/base/result.h"

namespace http {

inline constexpr size_t kMostAddresses = 8;

// Numeric ones, in the order in which they are to be tried; at least one.
Task<Result<std::vector<std::string>>> resolve(Loop& loop, std::string host, std::chrono::milliseconds limit);
// What getent(1) printed.
std::vector<std::string> read_addresses(std::string_view printed);

}  // namespace http
