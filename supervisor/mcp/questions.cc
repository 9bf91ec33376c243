// The part of Connection that asks the client questions. A legacy client gets a request from the server. A modern
// client gets the questions as the answer to its own request; the call is parked until the client repeats the request.
#include <fmt/format.h>

#include <array>

#include "supervisor/base/json.h"
#include "supervisor/base/random.h"
#include "supervisor/mcp/connection_call.h"

namespace mcp {
namespace {

using namespace std::chrono_literals;

constexpr auto kAnswerKept = 10min;    // how long an answer waits for a client to repeat its request
constexpr size_t kMostKept = 8 << 20;  // bytes of waiting answers, per connection

// Whether a member of _meta is about the transport of the request.
bool says_how_it_travels(const std::string& key) {
  return key == "progressToken" || key == "traceparent" || key == "tracestate" || key == "baggage" ||
         key.starts_with("io.modelcontextprotocol/");
}

RequestId id_of(const std::string& key) { return *RequestId::from(Json(key)); }

void deliver(Loop& loop, const std::shared_ptr<Elicitation>& question, Elicited answer) {
  loop.defer([weak = std::weak_ptr(question), answer = std::move(answer)] {
    if (auto waiting = weak.lock()) waiting->answered(answer);
  });
}

// The order of keys does not matter: a client may repeat a request with another order. The recursion ends, because
// requests are nested at most kMaxJsonDepth deep.
size_t digest_of_member(const std::string& name, const Json& value) {
  size_t inside = 0;
  if (value.is_object()) {
    for (const auto& [key, member] : value.items()) inside += digest_of_member(key, member);
  } else if (value.is_array()) {
    for (const Json& item : value) inside = inside * 31 + digest_of_member("", item);
  } else {
    inside = std::hash<Json>()(value);
  }
  const std::array<size_t, 3> parts{std::hash<std::string>()(name), static_cast<size_t>(value.type()), inside};
  return std::hash<std::string_view>()({reinterpret_cast<const char*>(parts.data()), sizeof parts});
}

}  // namespace

// Makes no copy: most requests never cause a question, and some are large.
size_t digest_of(const Json& params) {
  size_t digest = 0;
  const auto add = [&digest](const std::string& name, const Json& value) { digest += digest_of_member(name, value); };
  for (const auto& [name, value] : params.items()) {
    if (name == "requestState" || name == "inputResponses") continue;
    if (name != "_meta" || !value.is_object()) {
      add(name, value);
      continue;
    }
    // Members about the transport may differ when the request is repeated. All other members must be equal.
    for (const auto& [key, of] : value.items())
      if (!says_how_it_travels(key)) add(key, of);
  }
  return digest;
}

std::shared_ptr<Elicitation> Connection::ask_client(Call& call, ElicitationForm form,
                                                    std::function<void(Elicited)> answered) {
  const Version version = call.context.version;
  if (ended_ || input_ended_ || !can_elicit(call.context.client->capabilities, version)) return nullptr;
  const bool modern = era_of(version) == Era::modern;
  if (!modern && outbox_.full()) return nullptr;
  auto question = std::make_shared<Elicitation>();
  question->form = std::move(form);
  question->answered = std::move(answered);
  const auto key = (modern ? embedded_ : requests_).add(question);
  if (!key) return nullptr;
  if (modern) {
    question->taken_back = [self = std::weak_ptr(self_), key = *key] {
      if (auto alive = self.lock()) (*alive)->embedded_.drop(key);
    };
    call.questions.push_back(*key);
    park_soon(call);
  } else {
    ask_by_request(question, *key, version);
  }
  return question;
}

void Connection::ask_by_request(const std::shared_ptr<Elicitation>& question, const std::string& key, Version version) {
  question->taken_back = [self = std::weak_ptr(self_), key] {
    auto alive = self.lock();
    if (!alive || !(*alive)->requests_.drop(key)) return;
    (*alive)->reply(notification_line("notifications/cancelled", R"("requestId":)" + id_of(key).wire), {});
  };
  reply(request_line(id_of(key), "elicitation/create", elicitation_members(question->form, version)), {});
}

void Connection::on_response(const Message& message) {
  const Json id = parse_json(message.id.wire).value_or(Json());
  if (!id.is_string()) return;
  if (const auto question = requests_.take(id.get_ref<const std::string&>()))
    deliver(loop_, question, read_elicited(message.result).value_or(Elicited{}));
}

// Parks the call in a later turn of the loop, so that questions asked in the same turn go to the client together.
void Connection::park_soon(const Call& call) {
  loop_.defer([self = std::weak_ptr(self_), id = call.context.id] {
    if (auto alive = self.lock()) (*alive)->park(id);
  });
}

void Connection::park(const RequestId& id) {
  const auto found = calls_.find(id);
  if (found == calls_.end()) return;
  Call& call = *found->second;
  std::erase_if(call.questions, [this](const std::string& key) { return !embedded_.find(key); });
  if (call.questions.empty()) return;
  if (input_ended_) {  // the client cannot repeat the request
    for (const std::string& key : call.questions) deliver(loop_, embedded_.take(key), Elicited{});
    return call.questions.clear();
  }
  const Version version = call.context.version;
  const std::string state = random_hex(16);
  std::string members, asked;
  for (const std::string& key : call.questions) {
    append_key(asked, key);
    asked += R"({"method":"elicitation/create","params":{)";
    asked += elicitation_members(embedded_.find(key)->form, version) + "}}";
  }
  finish_result(members, version, server_.identity(), {}, {}, Completeness::input_required);
  members += R"(,"inputRequests":{)" + asked + R"(},"requestState":")" + state + '"';
  call.state = state;
  call.context.set_notifications({}, {});  // they belonged to the answered request, as does its batch
  const auto batch = std::exchange(call.batch, nullptr);
  parked_.emplace(state, std::move(calls_.extract(found).mapped()));
  reply(result_line(id, members), batch);
  note_calls();
}

// Stores the answer of a parked call: the client has no open request for it, but may still repeat the request.
void Connection::keep_answer(Call& call, Answer answer) {
  if (!parked_.contains(call.state)) return;  // in the destructor
  size_t kept = answer ? answer->size() : 0;
  for (const auto& [state, other] : parked_)
    if (other->answer && *other->answer) kept += (*other->answer)->size();
  if (kept > kMostKept) {
    answer = tl::unexpected(
        RpcError{ErrorCode::internal_error,
                 "The call was done, but its answer was too large to be stored until the client asks for it",
                 {{"remedy", "check the effects of the call; call again for a smaller answer"}}});
  }
  call.unread->set(answer ? answer->size() : 0);
  call.answer = std::move(answer);
  call.busy.reset();
  call.forgetting = Deadline(loop_, kAnswerKept, [this, state = call.state] {
    const auto forgotten = parked_.extract(state);  // also destroys this deadline, so it must be the last statement
  });
}

void Connection::resume(const Message& message, const Measure& measure, RequestMeta meta) {
  const Json& state = message.params["requestState"];
  const auto found = state.is_string() ? parked_.find(state.get_ref<const std::string&>()) : parked_.end();
  if (found == parked_.end() || found->second->context.method != message.method ||
      found->second->digest != (measure.digest ? *measure.digest : digest_of(message.params))) {
    return refuse(message.id,
                  {ErrorCode::invalid_params,
                   "Invalid params: requestState is not known on this connection, or belongs to another request",
                   {{"remedy", "check the effects of the call, then call again without requestState"}}},
                  {});
  }
  auto node = parked_.extract(found);
  Call& call = *calls_.emplace(message.id, std::move(node.mapped())).first->second;
  call.state.clear();
  call.forgetting = Deadline();
  call.context.id = message.id;
  call.context.client =
      std::make_shared<ClientInfo>(ClientInfo{std::move(meta.client_capabilities), std::move(meta.client_info)});
  call.context.set_notifications(std::move(meta.progress_token), meta.log_level);
  note_calls();
  if (call.answer) return finish(call, *std::exchange(call.answer, {}));
  take_responses(call, message.params);
  if (!call.questions.empty()) park_soon(call);  // questions without a valid answer are asked again
}

void Connection::take_responses(Call& call, const Json& params) {
  const auto responses = params.find("inputResponses");
  if (responses == params.end() || !responses->is_object()) return;
  std::erase_if(call.questions, [&](const std::string& key) {
    const auto response = responses->find(key);
    const auto answer = response == responses->end() ? std::nullopt : read_elicited(*response);
    if (!answer) return false;
    if (const auto question = embedded_.take(key)) deliver(loop_, question, *answer);
    return true;
  });
}

// The client has ended its output, so its open questions get the answer `unable`. Other people that the handlers asked
// may still answer.
void Connection::give_up_questions() {
  for (const auto& question : requests_.take_all()) deliver(loop_, question, Elicited{});
  const auto parked = std::exchange(parked_, {});  // their requests cannot be repeated
}

}  // namespace mcp
