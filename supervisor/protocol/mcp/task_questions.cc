#include "supervisor/protocol/mcp/task_questions.h"

#include <algorithm>
#include <utility>

namespace mcp {

TaskQuestions::~TaskQuestions() {
  for (const auto& [key, question] : pending_) leave(key);
  if (!pending_.empty()) calls_.questions_changed(task_);
}

void TaskQuestions::ask(const std::shared_ptr<Event>& changed) {
  RunningCall* call = calls_.find(task_);
  if (!call) return pending_.clear();
  static_cast<void>(call->has_open_questions());
  std::erase_if(pending_, [call](const auto& mine) {
    return std::none_of(call->questions.begin(), call->questions.end(),
                        [&](const auto& open) { return open.key == mine.first; });
  });
  for (auto& open : call->questions) {
    if (open.requested_by) continue;
    ElicitationForm form = call->embedded->find(open.key)->form;
    form.task = task_;
    auto question =
        context_.elicit(std::move(form), [this, key = open.key](Elicited answer) { answered(key, std::move(answer)); });
    if (!question) continue;
    open.requested_by = this;
    pending_.emplace(open.key, std::move(question));
  }
  std::erase_if(call->watchers, [](const auto& item) { return item.expired(); });
  call->watchers.push_back(changed);
}

void TaskQuestions::answered(const std::string& key, Elicited answer) {
  const auto mine = pending_.extract(key);  // destroyed at the end: its function is on the stack
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
    if (open.key == key && open.requested_by == this) open.requested_by = nullptr;
}

}  // namespace mcp
