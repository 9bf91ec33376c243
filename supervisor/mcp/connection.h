// Connection: one client on one socket. Reads lines, holds the state of legacy clients, runs handlers side by side and
// sends each answer when it is ready.
// Made by: Listener, for each accept(). When the connection ends, it calls `on_end` from a later turn of the loop, and
// `on_end` destroys it. The destructor cancels every request that still runs.
#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "supervisor/base/large_value.h"
#include "supervisor/base/loop.h"
#include "supervisor/mcp/account.h"
#include "supervisor/mcp/context.h"
#include "supervisor/mcp/framing.h"
#include "supervisor/mcp/outbox.h"
#include "supervisor/mcp/record.h"
#include "supervisor/mcp/server.h"

namespace mcp {

struct ConnectionLimits {
  size_t line_bytes = 16 << 20;  // longest line of a client, in bytes
  size_t reply_bytes = 8 << 20;  // the official clients close at 10 MiB
  size_t calls = 128;            // requests in work at once, without those of `queued_calls`
  size_t queued_calls = 4096;    // calls of tools with ToolDefinition::queues, running or waiting
  size_t id_bytes = 256 << 10;   // ids of all requests that are not answered yet
  size_t batch = 64;             // messages in one array
  OutboxLimits outbox;
  std::chrono::milliseconds refusal{5'000};  // how long a refused client may take to send its first request
};

class Connection {
 public:
  struct Accepted {
    Principal principal;
    std::shared_ptr<ConnectionUser> user;
    std::shared_ptr<Account> account = std::make_shared<Account>();
    std::optional<Error> refusal;                  // answers the first request, then the connection ends
    std::optional<KeptConnection> kept;            // set if a successor process may take the connection over
    std::optional<ConnectionRecord::Read> before;  // the connection's state in the previous process
  };
  // `socket` is a connected, non-blocking stream. Both references must outlive the connection.
  // Errors: internal, the loop cannot watch the socket.
  static Result<std::unique_ptr<Connection>> open(Loop& loop, Server& server, Fd socket, Accepted accepted,
                                                  ConnectionLimits limits, std::function<void()> on_end);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  size_t calls() const { return calls_.size(); }
  const std::shared_ptr<ConnectionUser>& user() const { return accepted_.user; }
  // Ends the connection as if the client had left: its calls are cancelled.
  void close() { end(); }
  // If a successor process may take the connection over: stops reading from the socket. Requests that run continue, and
  // their answers are sent.
  void pause();
  // If a successor process may take the connection over: writes unhandled input into the record. The destructor then
  // leaves the socket open for the client.
  void leave();

 private:
  // The answers to one array of requests, sent as one array when the last request was answered or cancelled.
  class Batch;
  struct Call;
  struct Hangup;
  struct HeldUp;
  struct Work;
  class Share;

  Connection(Loop& loop, Server& server, AsyncFd socket, Accepted accepted, ConnectionLimits limits,
             std::function<void()> on_end);
  Task<> read();
  enum class Progress { bytes_needed, more_lines, large_line, room_needed };
  Progress handle_lines();
  bool needs_room() const;
  bool takes_notifications() const;
  Task<> room();
  ssize_t receive();
  bool charge(size_t capacity);
  // Handles one line. False: the line is large, and now in large_ for on_large().
  bool take(const LineSplitter::Item& item);
  bool take_last(const LineSplitter::Item& item);
  // `bytes`: memory that the line's values take; 0: too little to count.
  void on_item(const LineSplitter::Item& item, size_t bytes);
  Task<> on_large(LineSplitter::Item item);
  // Facts about a message, computed where it was parsed.
  struct Measure {
    size_t bytes = 0;              // memory that the message's values take
    std::optional<size_t> digest;  // digest_of() its params, if already computed
  };
  struct Line {
    tl::expected<Json, Refusal> value;
    std::vector<Measure> measures;  // one for the message, or one for each message of an array; empty: all are small
  };
  static Line measure(std::string_view text, tl::expected<Json, Refusal> value);
  void on_line(std::string_view text, Line line);
  void on_batch(Json&& items, const std::vector<Measure>& measures);
  // `line`: the text of the message; empty for a message in an array. The caller frees the rest of `value`.
  void on_message(Json&& value, std::string_view line, const Measure& measure, const std::shared_ptr<Batch>& batch);
  void on_notification(const Message& message);
  void on_request(Message&& message, const Measure& measure, const std::shared_ptr<Batch>& batch);
  Answer initialize(const Json& params);
  Answer subscribe(Method method, const Json& params);
  Answer set_level(const Json& params);
  void start_call(Method method, Message&& message, const Measure& measure, RequestMeta meta, Version version,
                  const std::shared_ptr<Batch>& batch);
  std::optional<RpcError> find_limit(const RequestId& id, size_t bytes, bool queues) const;
  Task<> run_call(Call& call, Method method, FreedBeside params);
  void finish(Call& call, Answer answer);
  void cancel(const RequestId& id);
  // Questions to the client: questions.cc.
  std::shared_ptr<Elicitation> ask_client(Call& call, ElicitationForm form, std::function<void(Elicited)> answered);
  void ask_by_request(const std::shared_ptr<Elicitation>& question, const std::string& key, Version version);
  void park_soon(const Call& call);
  void park(const RequestId& id);
  void keep_answer(Call& call, Answer answer);
  void resume(const Message& message, const Measure& measure, RequestMeta meta);
  void take_responses(Call& call, const Json& params);
  void on_response(const Message& message);
  void give_up_questions();
  void reply(std::string line, const std::shared_ptr<Batch>& batch);
  void refuse(const std::optional<RequestId>& id, RpcError error, const std::shared_ptr<Batch>& batch);
  void settle();
  void go_on(ConnectionRecord::Read before);
  void start_legacy(Json capabilities, Json info);
  void note_handshake();
  void note_calls();
  void note(ConnectionRecord::Busy kind, bool is);
  void on_room();
  void on_input_end();
  void end_when_done();
  void end();

  Loop& loop_;
  Server& server_;
  AsyncFd socket_;
  Accepted accepted_;
  const std::string name_;  // the user, as text for people: "user 1000"
  ConnectionLimits limits_;
  std::function<void()> on_end_;
  std::shared_ptr<Connection*> self_;  // for callbacks that may run after the destructor
  Outbox outbox_;
  LineSplitter lines_;
  size_t charged_ = 0;                       // bytes of the buffer of lines_ that are charged to the account
  std::optional<LineSplitter::Item> large_;  // the line to parse beside the loop, now or next
  size_t held_up_ = 0;                       // calls that wait until the user's answers are read

  std::optional<Version> negotiated_;  // by `initialize`
  std::shared_ptr<const ClientInfo> client_ = std::make_shared<ClientInfo>();
  std::optional<Severity> log_level_;                // by logging/setLevel
  std::optional<Subscriptions::Interest> interest_;  // a legacy client's, since `initialize`

  std::string handshake_;  // the four members above as JSON text, for the record

  std::shared_ptr<Work> work_;
  std::map<RequestId, std::unique_ptr<Call>> calls_;
  // Modern calls that were answered with questions, by their `requestState`. The client has no open request for them.
  std::map<std::string, std::unique_ptr<Call>, std::less<>> parked_;
  Elicitations requests_, embedded_;     // questions to legacy clients, and to modern ones
  std::optional<Server::Busy> writing_;  // while the outbox is not empty
  std::shared_ptr<Event> room_;          // while read() waits for the outbox, or for the user's other answers
  bool input_ended_ = false;
  bool ended_ = false;
  Deadline refusal_;
  std::unique_ptr<Hangup> hangup_;
  std::optional<Task<>> reader_;
};

}  // namespace mcp
