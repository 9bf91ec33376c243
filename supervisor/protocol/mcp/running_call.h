// RunningCall: one request that a handler works on. CallHost: the owner of a call, which takes its messages and its
// answer. The host is a Conversation while a client waits for the answer, and ParkedCalls while the client was asked
// questions. Destroying a call cancels its handler.
// Made by: Conversation. No errors.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "supervisor/base/large_value.h"
#include "supervisor/base/loop.h"
#include "supervisor/protocol/mcp/answer_batch.h"
#include "supervisor/protocol/mcp/context.h"
#include "supervisor/protocol/mcp/request_share.h"
#include "supervisor/protocol/mcp/server.h"

namespace mcp {

struct RunningCall;

class CallHost {
 public:
  virtual ~CallHost() = default;
  virtual void notify(const RunningCall& call, std::string line) = 0;
  // nullptr: the client cannot be asked.
  virtual std::shared_ptr<Elicitation> ask(RunningCall& call, ElicitationForm form,
                                           std::function<void(Elicited)> answered) = 0;
  // RequestContext::detach() and become_task().
  virtual Result<> detach(RunningCall& call, ToolResult now) = 0;
  virtual Task<Result<>> become_task(RunningCall& call) = 0;
  // Called by the call's own task, so the host destroys the call in a later turn of the loop.
  virtual void finish(RunningCall& call, Answer answer) = 0;
};

struct RunningCall {
  RunningCall(Loop& loop, Server& server, CallHost& started_by, RequestId id, Version version);
  ~RunningCall() {
    context.close();
    task.reset();  // before the members that the task uses
  }
  RunningCall(const RunningCall&) = delete;
  RunningCall& operator=(const RunningCall&) = delete;

  // Runs the handler and gives its answer to the host that the call has by then.
  Task<> run(Server& server, Method method, FreedBeside params, size_t max_bytes);
  // Adds a question that waits for the client's repetition of the request. nullptr: too many questions are open, or one
  // of this name.
  std::shared_ptr<Elicitation> add_question(ElicitationForm form, std::function<void(Elicited)> answered);
  // Forgets questions that were taken back. False: no question is open.
  bool has_open_questions();
  // The open questions by their names, as the members of an object; empty: absent.
  std::string open_questions();
  // Takes the valid answers to open questions out of an object by their names. Anything else is ignored.
  void give_answers(const Json& responses);

  CallHost* host;
  std::optional<RequestShare> share;
  std::optional<UnreadShare> unread;  // the answer's memory, until the sink has the answer
  std::optional<Server::Busy> busy;
  std::shared_ptr<AnswerBatch> batch;  // may be null
  RequestContext context;

  // For calls that ask a modern client.
  size_t digest = 0;                       // digest_of() the request's params
  std::shared_ptr<Elicitations> embedded;  // the open questions of the conversation that the call began in
  struct PendingQuestion {
    std::string name;                    // for the client
    std::string key;                     // in `embedded`
    const void* requested_by = nullptr;  // the TaskQuestions whose client has the question now
  };
  std::vector<PendingQuestion> questions;
  Json answers;                              // inputResponses that came before any question; null: none did
  std::string parked_principal, parked_key;  // the call's place in ParkedCalls; empty: it is not parked

  // For tasks (task_calls.h).
  bool may_be_task = false;                             // its tool allows it
  std::optional<int64_t> requested_ttl_ms;              // a legacy client asked for a task
  std::optional<Deadline> promotion;                    // makes it a task
  std::shared_ptr<int> promotion_token;                 // names this call for the timer, as ids are used again
  std::function<void(std::string line)> notify_client;  // sends a message to the client of 2025-11-25 that began it
  std::vector<std::weak_ptr<Event>> watchers;  // requests that wait for a change of `questions`; each is fired once

  std::optional<Task<>> task;
};

}  // namespace mcp
