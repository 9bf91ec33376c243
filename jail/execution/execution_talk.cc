// RunningExecution: the messages between the daemon and the runner.
#include <fmt/format.h>

#include "jail/execution/running_execution.h"
#include "jail/talk/run_message.h"

namespace jail {
namespace {

constexpr size_t kMaxCalls = 200;  // calls without a sent answer; the runners stay below this number

}  // namespace

Task<Result<>> RunningExecution::send_code() {
  if (auto before = std::exchange(request_.before_code, {})) co_await before();
  auto order = request_.order;
  if (!order) order = std::make_shared<const std::string>(run_message(request_));
  auto sent = co_await jail_.guest().send_shared(std::move(order));
  if (sent && request_.values) {
    const bool writes = request_.values_use == Request::Values::write;
    sent = co_await jail_.guest().send_descriptor(writes ? request_.values->writer() : request_.values->file());
  }
  if (sent) (void)advance(ExecutionEvent::code_sent);
  mark("sent");
  co_return sent;
}

template <class Message>
void RunningExecution::not_understood(const Result<Message>& message) {
  if (!message && message.error().code == Code::invalid) violation(message.error().what);
}

Task<> RunningExecution::talk() {
  jail_.guest().limit_messages(max_message(request_) + kSlack);
  while (!jail_.ready()) {
    auto message = co_await jail_.guest().receive();
    if (!message || !message->has_value()) co_return not_understood(message);
    if (!jail_.take_ready(**message)) co_return violation("an unexpected message");
    if (auto started = co_await start_clock(); !started) co_return violation(started.error().what);
  }
  for (;;) {
    auto text = co_await jail_.guest().receive_text();
    if (!text || !text->has_value()) co_return not_understood(text);
    if (!advance(ExecutionEvent::message)) co_return;
    const size_t bytes = (*text)->size();
    auto guest_text = co_await read_guest_text(host_.work, owner(), *share_, **std::move(text));
    if (!take(std::move(guest_text), bytes)) co_return;
    co_await unanswered_.room();
  }
}

bool RunningExecution::take(Result<GuestMessage>&& message, size_t bytes) {
  const LoopShare::Use use(*share_);
  const NamedWork named_work(LoopWork::program_message, &request_.tenant);
  if (!message) {
    violation(message.error().what);
    return false;
  }
  GuestMessage& guest_message = *message;
  const auto* result = std::get_if<GuestResult>(&guest_message);
  const auto event = !result          ? ExecutionEvent::call
                     : result->status ? ExecutionEvent::final_result
                                      : ExecutionEvent::result;
  if (!advance(event)) {
    host_.work.free_elsewhere(std::move(guest_message));
    return false;
  }
  if (result) {
    take_result(std::get<GuestResult>(std::move(guest_message)));
    return request_.session_call == 0;  // later messages belong to the next program
  }
  if (accepted_ - replies_.sent() >= kMaxCalls) {
    violation("too many calls at once");
    return false;
  }
  accepted_++;
  calls_.spawn(answer(std::get<GuestCall>(std::move(guest_message)), bytes));
  return true;
}

void RunningExecution::take_result(GuestResult result) {
  mark("answered");
  answered_status_ = result.status.value_or(0);
  report_.value = std::move(result.value);
  report_.value_type = std::move(result.value_type);
  if (value_bytes_ > 0) report_.value_form = result.form;
  report_.read_bytes = result.read_bytes;
  if (result.failed) {
    report_.error = std::move(result.error);
    report_.traceback = std::move(result.traceback);
    evidence_.guest_error = true;
    evidence_.guest_out_of_memory = report_.error.starts_with("MemoryError");
    evidence_.guest_errno = result.error_number.value_or(evidence_.guest_errno);
  }
  report_.images = std::move(result.images);
  if (state_.is_finished()) {
    over_.fire();
  } else {
    jail_.guest().end_sending();
  }
}

// The code may send parts itself: they are its own value, within the same limit.
Result<CallReply> RunningExecution::keep_value(const Json& arguments) {
  const auto part = arguments.find("part");
  if (part == arguments.end() || !part->is_string()) return fail(Code::invalid, "keep_value: `part` is missing");
  const std::string& text = part->get_ref<const std::string&>();
  if (text.size() > max_saved(request_) - value_bytes_)
    return fail(Code::exhausted, fmt::format("it is more than {} bytes, the most that is stored", max_saved(request_)));
  value_bytes_ += text.size();
  CHECKED(request_.keep_value(text));
  return CallReply(Json());
}

Task<> RunningExecution::answer(GuestCall call, size_t bytes) {
  const UnansweredCalls::PendingCall item(unanswered_, bytes);
  Result<CallReply> done = fail(Code::not_found, fmt::format("no call is named '{}' here", call.name));
  if (call.refused) {
    done = tl::unexpected<Error>(*std::move(call.refused));
  } else if (call.name == kKeepValueCall && request_.keep_value) {
    done = keep_value(call.arguments);
  } else if (request_.call) {
    done = co_await request_.call(std::move(call.name), std::move(call.arguments));
  }
  co_await replies_.send(std::move(call.id), std::move(done));
}

}  // namespace jail
