// Connection: one client on one Unix socket. Reads lines, parses them, gives the messages to its Conversation, and
// writes the answers.
// Made by: Listener, for each accept(). When the connection ends, it calls `on_end` from a later turn of the loop, and
// `on_end` destroys it. The destructor cancels every request that still runs.
// Errors: those of open(). A line that is no JSON-RPC message is answered with an error; after an error of the socket,
// and when the client does not read its answers, the connection ends.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "supervisor/base/loop.h"
#include "supervisor/protocol/mcp/connection_input.h"
#include "supervisor/protocol/mcp/conversation.h"
#include "supervisor/protocol/mcp/deferred_end.h"
#include "supervisor/protocol/mcp/hangup_watch.h"
#include "supervisor/protocol/mcp/outbox.h"
#include "supervisor/protocol/mcp/record.h"
#include "supervisor/protocol/mcp/server.h"
#include "supervisor/protocol/mcp/sink.h"

namespace mcp {

struct ConnectionLimits : ConversationLimits {
  size_t line_bytes = 16 << 20;  // longest line of a client, in bytes
  OutboxLimits outbox;
  std::chrono::milliseconds refusal{5'000};  // how long a refused client may take to send its first request
};

class Connection : private Sink {
 public:
  // Takes over the socket of a client that speaks HTTP, which the first byte shows. `bytes`: what was read from it.
  using ServeHttp = std::function<void(Fd socket, std::string_view bytes, Conversation::Client client)>;
  struct Accepted : Conversation::Client {
    std::shared_ptr<const ServeHttp> serve_http;   // nullptr: HTTP is not served
    std::optional<SavedConnection> saved;          // set if a successor process may take the connection over
    std::optional<ConnectionRecord::Read> before;  // the connection's state in the previous process
  };
  // `socket` is a connected, non-blocking stream. Both references must outlive the connection.
  // Errors: internal, the loop cannot watch the socket.
  static Result<std::unique_ptr<Connection>> open(Loop& loop, Server& server, Fd socket, Accepted accepted,
                                                  ConnectionLimits limits, std::function<void()> on_end);
  ~Connection() override;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  size_t calls() const { return conversation_->calls(); }
  const std::shared_ptr<ConnectionUser>& user() const { return conversation_->client().user; }
  // Ends the connection as if the client had left: its calls are cancelled.
  void close() { end(); }
  // If a successor process may take the connection over: stops reading from the socket. Requests that run continue, and
  // their answers are sent.
  void pause();
  // If a successor process may take the connection over: writes unhandled input into the record. The destructor then
  // leaves the socket open for the client.
  void leave();

 private:
  Connection(Loop& loop, Server& server, AsyncFd socket, Accepted accepted, const ConnectionLimits& limits,
             std::function<void()> on_end);
  Account& account() const { return *conversation_->client().account; }

  // Input.
  Task<> read();
  enum class Progress { bytes_needed, more_lines, large_line, room_needed };
  Progress handle_lines();
  bool needs_room() const;
  Task<> room();
  ssize_t receive();
  // Handles one line. False: the line is large, and now in input_.large for on_large(). (large_lines.cc)
  bool take(const LineSplitter::Item& item);
  bool take_last(const LineSplitter::Item& item);
  Task<> on_large(LineSplitter::Item item);
  // `bytes`: memory that the line's values take; 0: too little to count.
  void on_item(const LineSplitter::Item& item, size_t bytes);
  void on_json(std::string_view text, IncomingJson json);
  bool begins_http() const;
  void hand_to_http();

  // Output: the sink of the conversation.
  void answer(const RequestId* id, std::string line, std::optional<ErrorCode> error) override;
  void notify(const RequestId* about, std::string line, Delivery delivery) override;
  bool full() const override { return ending_.was_started() || outbox_.full(); }
  bool is_over_limit() const override { return outbox_.is_over_limit(); }
  void wait_for_room(const std::shared_ptr<Event>& room) override { outbox_.wait_for_room(room); }
  void settings_changed() override;
  void calls_changed() override;
  void send(std::string line);
  void refuse(const std::optional<RequestId>& id, const RpcError& error) { send(error_line(id, error)); }
  void settle();
  void on_room();

  // The handover to the next process: handover.cc.
  void go_on(const ConnectionRecord::Read& before);
  void note_calls();
  void note(ConnectionRecord::Busy kind, bool is);

  void on_input_end();
  void end_when_done();
  void end();

  Loop& loop_;
  Server& server_;
  AsyncFd socket_;
  std::optional<SavedConnection> saved_;
  std::shared_ptr<const ServeHttp> serve_http_;  // until the first byte has come
  DeferredEnd ending_;
  Outbox outbox_;
  ConnectionInput input_;
  std::optional<Conversation> conversation_;  // empty only in the destructor
  std::optional<Server::Busy> writing_;       // while the outbox is not empty
  std::shared_ptr<Event> room_;               // while read() waits for the outbox, or for the user's other answers
  bool input_ended_ = false;
  Deadline refusal_;
  std::unique_ptr<HangupWatch> hangup_;
  std::optional<Task<>> reader_;
};

}  // namespace mcp
