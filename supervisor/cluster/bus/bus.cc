#include "supervisor/cluster/bus/bus.h"

#include <fmt/format.h>

#include "supervisor/cluster/bus/subjects.h"

namespace cluster {
namespace {

constexpr std::string_view kNoResponders = "no_responders";
constexpr std::string_view kTimeout = "timeout";

tl::unexpected<Error> error_of_step(std::string_view step, Code code, std::string message, std::string hint) {
  Error error{code, 0, std::move(message), std::move(hint), {}};
  error.step = step;
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace

std::string_view bus_state_name(BusState state) {
  switch (state) {
    case BusState::connected:
      return "connected";
    case BusState::reconnecting:
      return "reconnecting";
    case BusState::closed:
      return "closed";
  }
  return "closed";
}

Result<> respond(Bus& bus, const BusMessage& message, std::string bytes) {
  if (message.reply.empty())
    return fail(Code::invalid, fmt::format("the message to '{}' wants no answer", message.subject));
  if (!message.reply.starts_with(kInboxRoot) || !check_subject(message.reply))
    return fail(Code::invalid,
                fmt::format("the message to '{}' wants its answer at a subject that is no inbox", message.subject),
                fmt::format("reply subjects begin with {}", kInboxRoot));
  return bus.publish(message.reply, std::move(bytes));
}

bool no_responders(const Error& error) { return error.step == kNoResponders; }
bool after_timeout(const Error& error) { return error.step == kTimeout; }

tl::unexpected<Error> no_responders_error(std::string_view subject) {
  return error_of_step(kNoResponders, Code::unavailable, fmt::format("nobody receives '{}'", subject),
                       "the other node is down or not connected; choose another");
}

tl::unexpected<Error> timeout_error(std::string_view action, std::chrono::milliseconds timeout) {
  return error_of_step(kTimeout, Code::unavailable, fmt::format("{}: no answer in {} ms", action, timeout.count()),
                       "it may have been done: ask before doing it again");
}

tl::unexpected<Error> closed_error(std::string_view why) {
  return fail(Code::unavailable, fmt::format("the bus is closed: {}", why), "connect again");
}

tl::unexpected<Error> too_large_error(std::string_view subject, size_t bytes, size_t max_bytes) {
  return fail(Code::invalid, fmt::format("a message of {} bytes to '{}'", bytes, subject),
              fmt::format("at most {} bytes are permitted; send it in parts", max_bytes));
}

}  // namespace cluster
