// RequestContext: what a handler knows about its request, and the handler's way to send messages to the client.
// Made by Conversation. It exists as long as the handler's task, which may use it by reference everywhere. Used by:
// Server and all handlers. No errors.
#pragma once
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "supervisor/base/json/json_value.h"
#include "supervisor/base/loop.h"
#include "supervisor/base/task.h"
#include "supervisor/protocol/mcp/connection_user.h"
#include "supervisor/protocol/mcp/elicitation.h"
#include "supervisor/protocol/mcp/principal.h"
#include "supervisor/protocol/mcp/protocol.h"

namespace mcp {

// What the client says about itself: a modern client with each request, a legacy client at `initialize`.
struct ClientInfo {
  Json capabilities = Json::object();
  Json info;  // {name, version, ...}; may be null; a claim, not an identity
};

class ResponseFilter;
class CallHost;
struct RunningCall;
struct ToolResult;

class RequestContext {
 public:
  using Send = std::function<void(std::string line)>;  // empty: no notification is sent
  RequestContext(Loop& on_loop, RequestId request_id, Version spoken, Send send)
      : loop(on_loop), id(std::move(request_id)), version(spoken), send_(std::move(send)) {}

  Loop& loop;
  RequestId id;
  Version version;
  std::string method;
  Principal principal;
  std::shared_ptr<const ClientInfo> client = std::make_shared<ClientInfo>();
  Json meta;                                        // params._meta as received: traceparent and other extensions' keys
  std::shared_ptr<ResponseFilter> response_filter;  // redacts the answer's texts; nullptr: no redaction
  std::shared_ptr<ConnectionUser> user;             // what the listener's `admit` returned for this connection

  std::string task;                  // the id of the call's task (task_calls.h); empty: it is none
  std::shared_ptr<const void> stay;  // of the part that counts the requests that run for a workspace; may be nullptr
  bool is_error = false;  // the answer is the result of a tool that failed: isError. Set before the task ends

  Era era() const { return era_of(version); }

  bool wants_progress() const { return progress_token_ && send_; }
  // Sends the progress of the request to the client. No notification is sent without a progress token from the client,
  // for a value not greater than the last one, or after the answer was made. With a response filter, `message` is left
  // out: it may be the first part of a text that the filter recognises only as a whole.
  void progress(double value, std::optional<double> total = {}, std::string_view message = {});
  // Sends a notifications/message if the client asked for this severity. Done when the message was sent or dropped.
  Task<> log(Severity severity, Json data, std::string logger = {});

  // Asks the person at the client, or the client itself (ElicitationForm::Kind). `answered` is called once, from the
  // loop, unless the returned Elicitation is destroyed before. nullptr: the client cannot be asked.
  std::shared_ptr<Elicitation> elicit(ElicitationForm form, std::function<void(Elicited)> answered) {
    return ask_ ? ask_(std::move(form), std::move(answered)) : nullptr;
  }
  // Whether the client declared that it can be asked.
  bool can_elicit() const { return ask_ && mcp::can_elicit(client->capabilities, version); }

  // Answers the client with `now`; the handler goes on without a client, and keeps its own result: what it returns is
  // dropped. Errors: unavailable.
  Result<> detach(ToolResult now);
  // Whether the client knows tasks, and become_task() may be called.
  bool can_become_task() const;
  // Returns when the client was answered with the id of a task; the handler goes on, and what it returns is the task's
  // result. Errors: exhausted, the tenant has too many tasks; unavailable.
  Task<Result<>> become_task();

  // Counts memory that the request takes in addition to its own text. False: the user is at the limit.
  bool hold(size_t bytes) { return bytes == 0 || !hold_ || hold_(bytes); }

  // Counts the memory of the answer until the answer is in the outbox.
  void note_answer_size(size_t bytes) {
    if (observe_size_) observe_size_(bytes);
  }

  // For the request's owner (RunningCall).
  void set_answer_size_observer(std::function<void(size_t bytes)> note_answer_size) {
    observe_size_ = std::move(note_answer_size);
  }
  void set_hold(std::function<bool(size_t bytes)> hold) { hold_ = std::move(hold); }
  using Ask = std::function<std::shared_ptr<Elicitation>(ElicitationForm, std::function<void(Elicited)>)>;
  void set_ask(Ask ask) { ask_ = std::move(ask); }
  void set_host(CallHost* const& host, RunningCall& call) { host_ = &host, call_ = &call; }
  void set_notifications(std::optional<RequestId> progress_token, std::optional<Severity> log_level) {
    progress_token_ = std::move(progress_token);
    log_level_ = log_level;
  }
  void stop_log() { log_level_.reset(); }
  void notify(std::string line) const {
    if (send_) send_(std::move(line));
  }
  void close() { send_ = nullptr, ask_ = nullptr; }  // the answer was made

 private:
  Send send_;
  Ask ask_;
  std::function<bool(size_t bytes)> hold_;
  std::function<void(size_t bytes)> observe_size_;
  std::optional<RequestId> progress_token_;
  std::optional<Severity> log_level_;
  CallHost* const* host_ = nullptr;  // of `call_`, which owns this object
  RunningCall* call_ = nullptr;
  double last_progress_ = -INFINITY;
};

}  // namespace mcp
