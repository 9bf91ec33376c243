// RunMessage: the order to a runner to run a program (jail/guest/README.md), as the JSON text for its channel.
// Source: the Request (jail/execution/execution.h). Used by: jail/execution/execution.cc,
// jail/execution/execution_talk.cc, jail/execution/session.cc.
#pragma once
#include <string>

#include "jail/execution/execution.h"
#include "supervisor/base/work.h"

namespace jail {

constexpr size_t kSlack = 64 << 10;  // bytes that a message of the runner may have beyond max_message
// The most bytes of one message of the runner; the runner gets it as max_message.
size_t max_message(const Request& request);
// The most bytes of a result that is sent in parts.
uint64_t max_saved(const Request& request);

std::string run_message(const Request& request);

inline bool is_large_order(const Request& request) {
  return request.code.size() + request.context_vars.size() > Work::kSmall;
}
// Makes request.order beside the loop. It then holds context_vars, and request.context_vars is empty. Errors: those of
// Work.
Task<Result<>> write_order(Work& work, Request& request);

}  // namespace jail
