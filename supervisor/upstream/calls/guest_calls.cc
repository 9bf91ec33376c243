#include "supervisor/upstream/calls/guest_calls.h"

#include <fmt/format.h>

#include <cstdlib>

#include "supervisor/base/large_value.h"

namespace calls {

void GuestCalls::add(std::string name, Handler handler) {
  bool added = handlers_.emplace(std::move(name), std::move(handler)).second;
  if (!added) std::abort();  // two handlers for one name: a bug in the daemon
}

Task<Result<jail::CallReply>> GuestCalls::call(GuestCaller& caller, std::string name, Json arguments) const {
  auto handler = handlers_.find(name);
  FreedBeside freed_beside(&work_, std::move(arguments));
  if (handler == handlers_.end()) co_return fail(Code::not_found, fmt::format("no call is named '{}' here", name));
  auto answer = co_await handler->second(caller, std::move(*freed_beside));
  co_return answer;
}

}  // namespace calls
