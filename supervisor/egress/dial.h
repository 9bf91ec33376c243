// dial(): a TCP connection to the first of some addresses that answers.
// Used by: the proxy's tunnels. Errors: unavailable, with the reason of the last address.
#pragma once
#include <chrono>
#include <string>
#include <vector>

#include "supervisor/base/loop.h"
#include "supervisor/base/result.h"

namespace egress {

// `addresses`: numeric, at least one. Each gets an equal part of `limit`.
Task<Result<AsyncFd>> dial(Loop& loop, std::vector<std::string> addresses, uint16_t port,
                           std::chrono::milliseconds limit);

}  // namespace egress
