#include "supervisor/tools/guest_calls.h"

#include <fmt/format.h>

#include <cstdlib>

namespace tools {

void GuestCalls::add(std::string name, Handler handler) {
  bool added = handlers_.emplace(std::move(name), std::move(handler)).second;
  if (!added) std::abort();  // two answers to one name: a mistake in this program
}

Task<Result<Json>> GuestCalls::call(const GuestCaller& caller, std::string name, Json arguments) const {
  auto handler = handlers_.find(name);
  if (handler == handlers_.end())
    co_return fail(Code::not_found, fmt::format("nothing named '{}' can be called from here", name));
  auto answer = co_await handler->second(caller, std::move(arguments));
  co_return answer;
}

}  // namespace tools
