// The part of Conversation that asks the client questions. A legacy client gets a request from the server. A modern
// client gets the questions as the answer to its own request; the call is parked until the client repeats the request.
#include "supervisor/base/json/json.h"
#include "supervisor/protocol/mcp/conversation.h"
#include "supervisor/protocol/mcp/parked_calls.h"

namespace mcp {
namespace {

RequestId id_of(const std::string& key) { return *RequestId::from(Json(key)); }

}  // namespace

std::shared_ptr<Elicitation> Conversation::ask(RunningCall& call, ElicitationForm form,
                                               std::function<void(Elicited)> answered) {
  if (input_ended_) return nullptr;
  if (call.context.era() == Era::legacy) return ask_by_request(call, std::move(form), std::move(answered));
  if (const auto early = early_answer(call, form)) {
    auto question = std::make_shared<Elicitation>();
    question->answered = std::move(answered);
    answer_later(loop_, question, *early);
    return question;
  }
  auto question = call.add_question(std::move(form), std::move(answered));
  if (question) park_soon(call);
  return question;
}

std::shared_ptr<Elicitation> Conversation::ask_by_request(const RunningCall& call, ElicitationForm form,
                                                          std::function<void(Elicited)> answered) {
  if (sink_.full()) return nullptr;
  auto question = std::make_shared<Elicitation>();
  question->form = std::move(form);
  question->answered = std::move(answered);
  const auto key = requests_.add(question);
  if (!key) return nullptr;
  const RequestId& about = call.context.id;
  question->withdrawn = [self = std::weak_ptr(self_), key = *key, about] {
    auto alive = self.lock();
    if (!alive || !(*alive)->requests_.drop(key)) return;
    (*alive)->sink_.notify(&about, notification_line("notifications/cancelled", R"("requestId":)" + id_of(key).wire),
                           Sink::Delivery::always);
  };
  sink_.notify(&about,
               request_line(id_of(*key), question_method(question->form.kind),
                            elicitation_members(question->form, call.context.version)),
               Sink::Delivery::always);
  return question;
}

void Conversation::on_response(const Message& message) {
  const Json id = parse_json(message.id.wire).value_or(Json());
  if (!id.is_string()) return;
  if (const auto question = requests_.take(id.get_ref<const std::string&>()))
    answer_later(loop_, question, read_elicited(message.result, question->form.kind).value_or(Elicited{}));
}

// Parks the call in a later turn of the loop, so that questions asked in the same turn go to the client together.
void Conversation::park_soon(const RunningCall& call) {
  loop_.defer([self = std::weak_ptr(self_), id = call.context.id] {
    if (auto alive = self.lock()) (*alive)->park(id);
  });
}

void Conversation::park(const RequestId& id) {
  const auto it = calls_.find(id);
  if (it == calls_.end()) return;
  RunningCall& call = *it->second;
  const std::string request = call.open_questions();
  if (request.empty()) return;
  ParkedCalls& parked = server_.parked_calls();
  if (input_ended_ || !parked.has_room(principal())) {  // the client cannot repeat the request
    for (const auto& open : call.questions) answer_later(loop_, call.embedded->take(open.key), Elicited{});
    return call.questions.clear();
  }
  const Version version = call.context.version;
  std::string members;
  call.promotion.reset();
  call.promotion_token.reset();
  call.context.set_notifications({}, {});  // they belonged to the answered request, as does its batch
  const auto batch = std::exchange(call.batch, nullptr);
  const std::string state = parked.add(principal(), this, std::move(calls_.extract(it).mapped()));
  finish_result(members, version, server_.identity(), {}, {}, Completeness::input_required);
  members += R"(,"inputRequests":{)" + request + R"(},"requestState":")" + state + '"';
  reply(&id, result_line(id, members), {}, batch);
  sink_.calls_changed();
}

void Conversation::resume(const Message& message, const MessageMeasure& measure, RequestMeta meta) {
  ParkedCalls& parked = server_.parked_calls();
  const Json& state = message.params["requestState"];
  const std::string key = state.is_string() ? state.get<std::string>() : std::string();
  const RunningCall* found = parked.find(principal(), key);
  if (!found || found->context.method != message.method ||
      found->digest != (measure.digest ? *measure.digest : digest_of(message.params))) {
    return refuse(
        message.id,
        {ErrorCode::invalid_params,
         "Invalid params: requestState is not known, or belongs to another request",
         {{"may_have_run", true}, {"remedy", "check the effects of the call, then call again without requestState"}}},
        {});
  }
  auto parked_answer = parked.take(principal(), key);
  RunningCall& call = *calls_.emplace(message.id, std::move(parked_answer.call)).first->second;
  call.host = this;
  call.share->move_to(counts_);
  call.context.id = message.id;
  call.context.client =
      std::make_shared<ClientInfo>(ClientInfo{std::move(meta.client_capabilities), std::move(meta.client_info)});
  call.context.set_notifications(std::move(meta.progress_token), meta.log_level);
  sink_.calls_changed();
  if (parked_answer.answer) return finish(call, *std::move(parked_answer.answer));
  if (const auto answers = message.params.find("inputResponses"); answers != message.params.end())
    call.give_answers(*answers);
  if (!call.questions.empty()) park_soon(call);  // questions without a valid answer are asked again
  if (call.questions.empty()) promote_later(call);
}

// The client may know the question's name from an earlier call, and send the answer with the call.
std::optional<Elicited> Conversation::early_answer(RunningCall& call, const ElicitationForm& form) {
  if (form.key.empty() || !call.answers.is_object()) return {};
  const auto it = call.answers.find(form.key);
  auto answer = it == call.answers.end() ? std::nullopt : read_elicited(*it, form.kind);
  call.answers.erase(form.key);  // one answer for one question
  return answer;
}

// Other people that the handlers asked may still answer.
void Conversation::end_input() {
  input_ended_ = true;
  Elicited remaining;
  remaining.client_left = true;
  for (const auto& question : requests_.take_all()) answer_later(loop_, question, remaining);
  server_.parked_calls().leave(principal(), this, limits_.parked);
}

}  // namespace mcp
