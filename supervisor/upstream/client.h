// Client: the client's side of MCP with one server. Asks in the modern era first (server/discover, 2026-07-28), else by
// the handshake (initialize, 2024-11-05 to 2025-11-25).
// The server is not trusted: messages are bounded, answers to questions never asked are dropped, a flood ends it, every
// request has a time limit. Of requests of the server's own ping is answered, and a question to the person behind a
// call (elicitation) where there is somebody to ask; others are "method not found". Errors: unavailable: the server
// ended, did not answer in time, or says what is no answer. What it answers as an error is a ServerAnswer.
#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "supervisor/base/json_value.h"
#include "supervisor/base/json_work.h"
#include "supervisor/base/loop.h"
#include "supervisor/base/loop_shares.h"
#include "supervisor/mcp/protocol.h"
#include "supervisor/upstream/request_clock.h"
#include "supervisor/upstream/secrets.h"
#include "supervisor/upstream/server_questions.h"
#include "supervisor/upstream/transport.h"

namespace upstream {

// What the server answered: a result, or a JSON-RPC error.
struct ServerAnswer {
  Json result;  // an object
  bool is_error = false;
  int64_t code = 0;
  std::string message;
  Json data;               // null: none
  bool not_taken = false;  // an error: the server has forgotten this client, did nothing, and may be asked by a new one
  size_t bytes = 0;        // of the message that it came in
};

class Client {
 public:
  static constexpr size_t kMaxUnasked = 8 << 20;  // bytes since it last answered something
  using Progress = std::function<void(double value, std::optional<double> total, std::string_view message)>;
  struct Listener {
    std::function<void()> tools_changed;
    std::function<void()> ended;  // once, from the loop: it will answer nothing any more
  };
  struct Order {
    std::string method;
    Json params = Json::object();
    std::chrono::milliseconds limit{0};
    Progress progress = {};               // may be empty
    Asking asking = {};                   // of a call
    Transport::Arguments arguments = {};  // of a call
  };

  // Where what is large is read, and on whose account; and whose part of the loop reads the rest.
  struct Reading {
    JsonWork& json;
    JsonWork::Owner owner;
    std::shared_ptr<LoopShare> share;
  };

  // `secrets`: texts that are replaced by their names in all that comes back.
  Client(Loop& loop, Reading reading, std::unique_ptr<Transport> transport, Variables secrets, Listener listener);
  ~Client();
  Client(const Client&) = delete;

  // Whether the server of the legacy era is told that it may ask: that is settled for all calls before the first. One
  // of the modern era is told with each call.
  enum class Questions { none, some };
  // Finds the era. Before anything else; within `limit`.
  Task<Result<>> open(std::chrono::milliseconds limit, Questions questions);
  // Cancelled when the task is destroyed.
  Task<Result<ServerAnswer>> request(Order order);
  // A request, `tools/call`, that the server may answer with questions (input_required, 2026-07-28): they are put to
  // whoever can be asked, and the request is repeated with what came of it. The limit is for all of it, but for the
  // time that people take. Errors also: exhausted: it asks and asks.
  Task<Result<ServerAnswer>> call(Order order);
  // Asks it to end, and waits for that 2 s at most, in a task of the loop's.
  static void let_go(Loop& loop, std::shared_ptr<Client> client);

  bool over() const { return over_; }
  // Why, and what it last wrote to its standard error.
  std::string why_over() const;
  mcp::Era era() const { return era_; }
  // Ever; whoever sees no change has heard nothing.
  uint64_t bytes_heard() const { return transport_->heard(); }

 private:
  struct Waiting {
    Event done;
    Result<ServerAnswer> answer = fail(Code::unavailable, "no answer");
    Progress progress;
    bool answered = false;
  };
  class Asked;  // takes the question back when nobody waits any more
  Task<> take(MessageText text, std::optional<int64_t> of);
  Task<std::optional<Json>> read(MessageText text);
  void send_request(int64_t id, Order& order);
  void take_message(Json& message, std::optional<int64_t> of, size_t bytes);
  void take_response(Json& message, size_t bytes);
  void take_request(const Json& message, std::optional<int64_t> of);
  void take_notification(const Json& message);
  void lose_one();
  void count_unasked(size_t bytes);
  void finish(Error why);
  Error end_as_error() const;
  void wake(const std::shared_ptr<Waiting>& waiting, Result<ServerAnswer> answer);
  Task<Result<>> try_handshake(std::chrono::milliseconds limit, Questions questions);
  Task<Result<Json>> answer_inputs(const Asking& asking, Json inputs, size_t& asked);
  Task<> hear_changes();

  Loop& loop_;
  Reading reading_;
  std::unique_ptr<Transport> transport_;
  Variables secrets_;
  Listener listener_;
  mcp::Era era_ = mcp::Era::modern;
  int64_t last_id_ = 0;
  std::map<int64_t, std::shared_ptr<Waiting>> waiting_;
  size_t unasked_ = 0;
  bool over_ = false;
  Error why_over_;
  std::shared_ptr<Client*> self_;  // for what is done in a later turn
  ServerQuestions questions_;
  Scope tasks_;  // last: cancelled first
};

}  // namespace upstream
