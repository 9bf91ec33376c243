// Client: the client's side of MCP on the connection to one upstream server. open() tries the modern era first
// (server/discover, 2026-07-28), then the handshake (initialize, 2024-11-05 to 2025-11-25).
// The server is not trusted. Messages are bounded, answers to unknown requests are dropped, a flood ends the
// connection, and each request has a time limit. Of the server's own requests two are answered: ping and, in the legacy
// era, a question to the person behind a call (elicitation/create). Others get "method not found".
// Used by: server_connection.cc. Errors: unavailable: the server ended, did not answer in time, or sent an invalid
// answer. A JSON-RPC error of the server is no Error but a ServerAnswer.
#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "supervisor/base/json/json_value.h"
#include "supervisor/base/loop.h"
#include "supervisor/base/loop_shares.h"
#include "supervisor/base/one_shot.h"
#include "supervisor/base/work.h"
#include "supervisor/protocol/mcp/protocol.h"
#include "supervisor/upstream/message_reading.h"
#include "supervisor/upstream/request_clock.h"
#include "supervisor/upstream/secrets.h"
#include "supervisor/upstream/server_questions.h"
#include "supervisor/upstream/transport.h"

namespace upstream {

// The server's answer: a result, or a JSON-RPC error.
struct ServerAnswer {
  Json result;  // an object
  bool is_error = false;
  int64_t code = 0;
  std::string message;
  Json data;                  // null: the error has no data
  bool not_accepted = false;  // the server forgot this session and did not run the request; a new client may repeat it
  size_t bytes = 0;           // size of the message with the answer
  bool is_mended = false;     // only tools/list: the answer had NaN or Infinity, which are null here
};

class Client {
 public:
  static constexpr size_t kMaxUnasked = 8 << 20;  // bytes that the server may send between two answers
  using Progress = std::function<void(double value, std::optional<double> total, std::string_view message)>;
  struct Listener {
    std::function<void()> tools_changed;
    std::function<void()> ended;  // called once, from the loop: no more answers will come
  };
  struct Request {
    std::string method;
    Json params = Json::object();
    std::chrono::milliseconds limit{0};
    Progress progress = {};               // optional
    Asking asking = {};                   // only for tools/call
    Transport::Arguments arguments = {};  // only for tools/call
  };

  // How messages are parsed: large ones by `json`, charged to `owner`; others on the loop, charged to `share`.
  struct Reading {
    Work& work;
    Work::Owner owner;
    std::shared_ptr<LoopShare> share;
  };

  // `secrets`: texts that are replaced by their names in all messages and errors of the server.
  Client(Loop& loop, Reading reading, std::unique_ptr<Transport> transport, Variables secrets, Listener listener);
  ~Client();
  Client(const Client&) = delete;

  // Whether the client offers elicitation. The handshake of the legacy era says so once, for all calls. In the modern
  // era each call says it, and this value has no effect.
  enum class Questions { none, some };
  // Finds the era of the server; must be called first. Takes at most 3 s for server/discover, which is sent again once
  // if the server refuses its version and lists it as supported; and at most `limit` for the handshake after it.
  Task<Result<>> open(std::chrono::milliseconds limit, Questions questions);
  // A destroyed task cancels the request at the server.
  Task<Result<ServerAnswer>> request(Request order);
  // Sends tools/call. A modern server may answer with questions (input_required, 2026-07-28): `order.asking` answers
  // them, and the request is repeated with the answers. The limit covers all rounds together, without the time that the
  // person takes. Errors also: exhausted: the server still asks after 10 rounds.
  Task<Result<ServerAnswer>> call(Request order);
  // Asks the server to end. A task of the loop waits for the end, 2 s at most, and then drops `client`.
  static void let_go(Loop& loop, std::shared_ptr<Client> client);

  bool over() const { return over_; }
  // The reason of the end, and the last text that the server wrote to its standard error.
  std::string why_over() const;
  mcp::Era era() const { return era_; }
  // Grows with each byte and each HTTP reply received; unchanged while the server is silent.
  uint64_t received_bytes() const { return transport_->received(); }
  // Whether much of what was sent waits for the server to read it.
  bool is_sending() const { return transport_->full(); }
  // Whether a large message is in work: later messages are not heard meanwhile.
  bool is_taking() const { return transport_->is_taking(); }

 private:
  struct WaitingRequest {
    std::string method;
    OneShot<Result<ServerAnswer>>::Resolver done;
    Progress progress;
    bool is_mended = false;  // as in ServerAnswer
  };
  class PendingRequest;  // a request under way; its destructor cancels it
  Task<> take(MessageText text, std::optional<int64_t> of);
  Task<MessageReading> read(MessageText text);
  void take_unread(MessageReading& read, std::string_view line, std::optional<int64_t> of, size_t bytes);
  void send_request(int64_t id, Request& order);
  void take_message(Json& message, std::optional<int64_t> of, size_t bytes);
  void take_response(Json& message, size_t bytes);
  void take_request(const Json& message, std::optional<int64_t> of);
  void take_notification(const Json& message);
  void lose_one();
  bool fail_request(int64_t id, std::string why, std::string remedy);
  void count_unasked(size_t bytes);
  void finish(Error why);
  Error end_as_error() const;
  Variables secrets() const;  // all texts to hide now
  Task<Result<ServerAnswer>> discover(std::chrono::milliseconds limit);
  Task<Result<>> try_handshake(std::chrono::milliseconds limit, Questions questions);
  Task<Result<Json>> answer_inputs(const Asking& asking, Json inputs, size_t& requested);
  Task<> hear_changes();

  Loop& loop_;
  Reading reading_;
  std::unique_ptr<Transport> transport_;
  Variables secrets_;
  Listener listener_;
  mcp::Era era_ = mcp::Era::modern;
  int64_t last_id_ = 0;
  std::map<int64_t, std::shared_ptr<WaitingRequest>> waiting_;
  size_t unasked_ = 0;
  TornMessage torn_;
  bool over_ = false;
  Error why_over_;
  std::shared_ptr<Client*> self_;  // weak references guard work in later turns of the loop
  ServerQuestions questions_;
  Scope tasks_;  // last: cancelled first
};

}  // namespace upstream
