#include "supervisor/protocol/mcp/task_questions.h"

#include <algorithm>
#include <utility>

namespace mcp {

TaskQuestions::~TaskQuestions() {
  for (const auto& [key, question] : asked_) leave(key);
  if (!asked_.empty()) calls_.questions_changed(task_);
}

void TaskQuestions::ask(const std::shared_ptr<Event>& changed) {
  RunningCall* call = calls_.find(task_);
  if (!call) return asked_.clear();
  static_cast<void>(call->has_open_questions());
  std::erase_if(asked_, [call](const auto& mine) {
    return std::none_of(call->questions.begin(), call->questions.end(),
                        [&](const auto& open) { return open.key == mine.first; });
  });
  for (auto& open : call->questions) {
    if (open.asked_by) continue;
    ElicitationForm form = call->embedded->find(open.key)->form;
    form.task = task_;
    auto question =
        context_.elicit(std::move(form), [this, key = open.key](Elicited answer) { answered(key, std::move(answer)); });
    if (!question) continue;
    open.asked_by = this;
    asked_.emplace(open.key, std::move(question));
  }
  std::erase_if(call->watchers, [](const auto& one) { return one.expired(); });
  call->watchers.push_back(changed);
}

void TaskQuestions::answered(const std::string& key, Elicited answer) {
  const auto mine = asked_.extract(key);  // destroyed at the end: its function is on the stack
  if (answer.client_left) {
    leave(mine.key());
    calls_.questions_changed(task_);
  } else {
    calls_.give_answer(task_, mine.key(), std::move(answer));
  }
}

void TaskQuestions::leave(const std::string& key) {
  RunningCall* call = calls_.find(task_);
  if (!call) return;
  for (auto& open : call->questions)
    if (open.key == key && open.asked_by == this) open.asked_by = nullptr;
}

}  // namespace mcp
