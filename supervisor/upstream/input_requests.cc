// Client::call: a server of 2026-07-28 may ask for input before it answers a call (basic/patterns/mrtr). The questions
// are asked, and the call is sent again with the answers.
#include <fmt/format.h>

#include "supervisor/base/json/json.h"
#include "supervisor/base/log.h"
#include "supervisor/upstream/client.h"

namespace upstream {
namespace {

using namespace std::chrono_literals;

constexpr size_t kMaxRounds = 10;        // repetitions of one call
constexpr size_t kMaxInputs = 16;        // questions in one answer
constexpr size_t kMaxState = 256 << 10;  // bytes
constexpr size_t kMaxQuestions = ServerQuestions::kMaxOfCall;

bool wants_input(const ServerAnswer& answer) {
  return !answer.is_error && answer.result.value("resultType", Json()) == "input_required";
}

}  // namespace

Task<Result<ServerAnswer>> Client::call(Request order) {
  order.method = "tools/call";
  auto remaining = order.limit;
  size_t requested = 0;
  for (size_t round = 0; round <= kMaxRounds; round++) {
    const auto started = Monotonic::now();
    Request once = order;
    once.limit = remaining;
    CO_TRY(ServerAnswer answer, co_await request(std::move(once)));
    if (era_ == mcp::Era::legacy || !wants_input(answer)) co_return answer;
    remaining = std::max<std::chrono::milliseconds>(
        remaining - std::chrono::duration_cast<std::chrono::milliseconds>(Monotonic::now() - started), 1ms);
    Json state = answer.result.value("requestState", Json());
    if (!state.is_null() && (!state.is_string() || state.get_ref<const std::string&>().size() > kMaxState))
      co_return fail(Code::unavailable, "sent a requestState that is not a string of at most 256 KB");
    for (const char* key : {"inputResponses", "requestState"}) order.params.erase(key);
    if (Json inputs = answer.result.value("inputRequests", Json()); !inputs.is_null()) {
      CO_TRY(order.params["inputResponses"], co_await answer_inputs(order.asking, std::move(inputs), requested));
    }
    if (!state.is_null()) order.params["requestState"] = std::move(state);
  }
  co_return fail(Code::exhausted, fmt::format("asks more questions after {} answers", kMaxRounds));
}

// Questions are asked one after the other: a person reads one form at a time.
Task<Result<Json>> Client::answer_inputs(const Asking& asking, Json inputs, size_t& requested) {
  Json responses = Json::object();
  if (!inputs.is_object() || inputs.size() > kMaxInputs)
    co_return fail(Code::unavailable,
                   fmt::format("sent inputRequests that are not an object of at most {} questions", kMaxInputs));
  for (auto input = inputs.begin(); input != inputs.end(); ++input) {
    const Json method = input->is_object() ? input->value("method", Json()) : Json();
    if (method != "elicitation/create")
      co_return fail(Code::unavailable,
                     fmt::format("asks for '{}', which this client does not offer",
                                 printable(method.is_string() ? method.get<std::string>() : "nothing", 64)));
    Work::Owner owner = reading_.owner;
    auto question = co_await read_question_in_turn(reading_.work, std::move(owner), input->value("params", Json()));
    Reply reply;
    if (question && asking.ask && requested++ < kMaxQuestions) reply = co_await asking.ask(*std::move(question));
    responses[input.key()] = reply.result();
  }
  co_return responses;
}

}  // namespace upstream
