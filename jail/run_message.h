// RunMessage: what a runner is told to do (jail/guest/README.md), as the text that goes over its channel.
#pragma once
#include <string>

#include "jail/execution.h"
#include "supervisor/base/json_work.h"

namespace jail {

constexpr size_t kSlack = 64 << 10;  // that a message of the runner's may have beyond what it counts
// What one message of the runner's may have, as it is told.
size_t most_message(const Request& request);

std::string run_message(const Request& request);

inline bool is_large_order(const Request& request) {
  return request.code.size() + request.context_vars.size() > JsonWork::kSmall;
}
// Makes request.order beside the loop. context_vars are in it then, and no longer beside it.
Task<Result<>> write_order(JsonWork& work, Request& request);

}  // namespace jail
