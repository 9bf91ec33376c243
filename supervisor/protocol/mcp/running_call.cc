#include "supervisor/protocol/mcp/running_call.h"

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"

namespace mcp {

RunningCall::RunningCall(Loop& loop, Server& server, CallHost& started_by, RequestId id, Version version)
    : host(&started_by),
      context(loop, std::move(id), version, [this](std::string line) { host->notify(*this, std::move(line)); }) {
  context.set_host(host, *this);
  busy.emplace(server, Server::Busy::Kind::call);
  context.set_hold([this](size_t more) { return !share || share->add(more); });
  context.set_answer_size_observer([this](size_t bytes) {
    if (unread) unread->set(bytes);
  });
  context.set_ask([this](ElicitationForm form, std::function<void(Elicited)> answered) {
    return can_ask(form.kind, context.client->capabilities, context.version)
               ? host->ask(*this, std::move(form), std::move(answered))
               : nullptr;
  });
}

Task<> RunningCall::run(Server& server, Method method, FreedBeside params, size_t max_bytes) {
  Answer answer = co_await server.answer(method, context, std::move(*params), max_bytes);
  host->finish(*this, std::move(answer));
}

std::shared_ptr<Elicitation> RunningCall::add_question(ElicitationForm form, std::function<void(Elicited)> answered) {
  if (!embedded) return nullptr;
  for (const PendingQuestion& request : questions)
    if (request.name == form.key) return nullptr;
  auto question = std::make_shared<Elicitation>();
  question->form = std::move(form);
  question->answered = std::move(answered);
  const auto key = embedded->add(question);
  if (!key) return nullptr;
  question->withdrawn = [open = std::weak_ptr(embedded), key = *key] {
    if (const auto alive = open.lock()) alive->drop(key);
  };
  questions.push_back({question->form.key.empty() ? *key : question->form.key, *key});
  return question;
}

bool RunningCall::has_open_questions() {
  if (embedded) std::erase_if(questions, [this](const auto& request) { return !embedded->find(request.key); });
  return !questions.empty();
}

std::string RunningCall::open_questions() {
  std::string members;
  if (!has_open_questions()) return members;
  for (const PendingQuestion& question : questions) {
    const ElicitationForm& form = embedded->find(question.key)->form;
    append_key(members, question.name);
    members.append(R"({"method":")").append(question_method(form.kind)).append(R"(","params":{)");
    members += elicitation_members(form, context.version) + "}}";
  }
  return members;
}

void RunningCall::give_answers(const Json& responses) {
  if (!embedded || !responses.is_object()) return;
  std::erase_if(questions, [&](const auto& request) {
    const auto open = embedded->find(request.key);
    const auto response = responses.find(request.name);
    if (!open || response == responses.end()) return false;
    const auto answer = read_elicited(*response, open->form.kind);
    if (!answer) return false;
    if (const auto question = embedded->take(request.key)) answer_later(context.loop, question, *answer);
    return true;
  });
}

}  // namespace mcp
