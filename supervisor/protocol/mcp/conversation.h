// Conversation: the protocol with one client. Takes messages, runs handlers side by side, and passes each answer to its
// Sink when it is ready. It has the state of the client: version, log level, subscriptions, requests in work, open
// questions. It knows no socket and no lines.
// Made by: Connection, which owns the client's socket. The destructor cancels every request that still runs.
// Errors: none of its functions fails; errors of the client's messages are answered through the sink.
#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/large_value.h"
#include "supervisor/base/loop.h"
#include "supervisor/protocol/mcp/account.h"
#include "supervisor/protocol/mcp/context.h"
#include "supervisor/protocol/mcp/incoming_json.h"
#include "supervisor/protocol/mcp/running_call.h"
#include "supervisor/protocol/mcp/server.h"
#include "supervisor/protocol/mcp/sink.h"

namespace mcp {

struct ConversationLimits {
  size_t reply_bytes = 8 << 20;              // the official clients close at 10 MiB
  size_t calls = 128;                        // requests in work at once, without those of `queued_calls`
  size_t queued_calls = 4096;                // calls of tools with ToolDefinition::queues, running or waiting
  size_t id_bytes = 256 << 10;               // ids of all requests that are not answered yet
  size_t batch = 64;                         // messages in one array
  std::chrono::milliseconds parked{60'000};  // how long a parked call (ParkedCalls) waits after this conversation
};

class Conversation : private CallHost {
 public:
  struct Client {
    Principal principal;
    std::shared_ptr<ConnectionUser> user;
    std::shared_ptr<Account> account = std::make_shared<Account>();
    std::optional<Error> refusal;  // answers the first request; then the conversation is over
  };
  // All references must outlive the conversation.
  Conversation(Loop& loop, Server& server, Sink& sink, Client client, ConversationLimits limits);
  ~Conversation() override;
  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;

  const Client& client() const { return client_; }
  // The user, as text for people: Principal::displayed().
  const std::string& name() const { return client_.principal.displayed(); }
  size_t calls() const { return calls_.size(); }
  // Whether the request has a handler that runs, and is not parked.
  bool is_in_work(const RequestId& id) const { return calls_.contains(id); }
  // The ids of the requests in work as JSON text, separated by commas.
  std::string ids_in_work() const;
  // Whether a request waits for room in the user's account of unread answers.
  bool is_held_up() const { return counts_->held_up > 0; }
  // Whether the client was refused, and its first request was answered. Later messages are not to be read.
  bool is_over() const { return over_; }

  // Handles one message or one array of messages. `text`: the JSON text that it was parsed from.
  void receive(std::string_view text, IncomingJson json);
  // Cancels a request, as the client's notifications/cancelled does. Unknown ids are ignored.
  void cancel(const RequestId& id);
  // No message will follow. Open questions to a legacy client are answered with `unable`, and no call of this
  // conversation is parked any more; requests in work continue.
  void end_input();

  // The settings that a legacy client made for the whole conversation; null before `initialize`.
  Json settings() const;
  // Continues with the settings() of an earlier conversation of this client.
  void restore(const Json& settings);

 private:
  struct Settings {
    std::optional<Version> negotiated;  // by `initialize`
    std::shared_ptr<const ClientInfo> client = std::make_shared<ClientInfo>();
    std::optional<Severity> log_level;                // by logging/setLevel
    std::optional<Subscriptions::Interest> interest;  // since `initialize`
  };
  using Batch = std::shared_ptr<AnswerBatch>;  // nullptr: the message came alone

  void on_batch(Json&& items, const std::vector<MessageMeasure>& measures);
  // `text`: of the message; empty for a message in an array. The caller frees the rest of `value`.
  void on_message(Json&& value, std::string_view text, const MessageMeasure& measure, const Batch& batch);
  void on_notification(const Message& message);
  void on_request(Message&& message, const MessageMeasure& measure, const Batch& batch);
  Answer answer_at_once(Method method, Version version, const Json& params);
  void answer_refusal(const RequestId& id, const Batch& batch);
  void reply(const RequestId* id, std::string line, std::optional<ErrorCode> error, const Batch& batch);
  void refuse(const std::optional<RequestId>& id, const RpcError& error, const Batch& batch);

  // Settings of legacy clients: legacy_era.cc.
  Answer initialize(const Json& params);
  Answer subscribe(Method method, const Json& params);
  Answer set_level(const Json& params);
  void start_legacy(Json capabilities, Json info);

  // Calls: calls_in_work.cc.
  void start_call(Method method, Message&& message, const MessageMeasure& measure, RequestMeta meta, Version version,
                  const Batch& batch);
  std::optional<RpcError> find_limit(const RequestId& id, size_t bytes, bool queues) const;
  Task<> run_call(RunningCall& call, Method method, FreedBeside params);
  void finish(RunningCall& call, Answer answer) override;
  void notify(const RunningCall& call, std::string line) override;

  // Calls that go on as tasks, or without their client: promotion.cc.
  Result<> detach(RunningCall& call, ToolResult now) override;
  Task<Result<>> become_task(RunningCall& call) override;
  bool owns(const RunningCall& call) const;
  void hand_over(RunningCall& call, std::string task, const std::string& members);
  void promote_later(RunningCall& call);
  static Task<> promote(std::weak_ptr<Conversation*> self, TaskCalls& tasks, RequestId id, std::weak_ptr<int> token);
  static RunningCall* promotable(const std::weak_ptr<Conversation*>& self, const RequestId& id,
                                 const std::weak_ptr<int>& token);

  // Questions to the client: questions.cc.
  std::shared_ptr<Elicitation> ask(RunningCall& call, ElicitationForm form,
                                   std::function<void(Elicited)> answered) override;
  std::shared_ptr<Elicitation> ask_by_request(const RunningCall& call, ElicitationForm form,
                                              std::function<void(Elicited)> answered);
  void park_soon(const RunningCall& call);
  void park(const RequestId& id);
  void resume(const Message& message, const MessageMeasure& measure, RequestMeta meta);
  static std::optional<Elicited> early_answer(RunningCall& call, const ElicitationForm& form);
  void on_response(const Message& message);
  const std::string& principal() const { return client_.principal.name(); }

  Loop& loop_;
  Server& server_;
  Sink& sink_;
  const Client client_;
  const ConversationLimits limits_;
  std::shared_ptr<Conversation*> self_;  // for callbacks that may run after the destructor
  Settings settings_;
  std::shared_ptr<RequestCounts> counts_ = std::make_shared<RequestCounts>();
  std::map<RequestId, std::unique_ptr<RunningCall>> calls_;
  Elicitations requests_;                                                      // questions to a legacy client
  std::shared_ptr<Elicitations> embedded_ = std::make_shared<Elicitations>();  // questions to a modern client
  bool input_ended_ = false;
  bool over_ = false;
};

}  // namespace mcp
