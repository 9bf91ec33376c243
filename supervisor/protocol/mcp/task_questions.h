// TaskQuestions: asks a legacy client the open questions of its task, while the client waits for tasks/result
// (specification: basic/utilities/tasks of 2025-11-25). Each question is with one such request at a time. If the
// request ends without an answer, the client is no longer asked, and the next tasks/result of the task gets the
// question. Made by: Server, for one request. No errors: a client that cannot be asked leaves the question open.
#pragma once
#include <map>
#include <memory>
#include <string>

#include "supervisor/base/loop.h"
#include "supervisor/protocol/mcp/elicitation.h"
#include "supervisor/protocol/mcp/task_calls.h"

namespace mcp {

class RequestContext;

class TaskQuestions {
 public:
  // Both references must outlive this object.
  TaskQuestions(TaskCalls& calls, RequestContext& context, std::string task)
      : calls_(calls), context_(context), task_(std::move(task)) {}
  ~TaskQuestions();
  TaskQuestions(const TaskQuestions&) = delete;
  TaskQuestions& operator=(const TaskQuestions&) = delete;

  // Asks the questions that no other request asks now. Fires `changed` when other questions are open.
  void ask(const std::shared_ptr<Event>& changed);

 private:
  void answered(const std::string& key, Elicited answer);
  void leave(const std::string& key);

  TaskCalls& calls_;
  RequestContext& context_;
  const std::string task_;
  std::map<std::string, std::shared_ptr<Elicitation>> pending_;  // by RunningCall::PendingQuestion::key
};

}  // namespace mcp
