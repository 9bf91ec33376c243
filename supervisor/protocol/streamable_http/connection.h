// HttpConnection: one client that speaks HTTP/1.1 on a Unix or TCP socket. Reads requests one at a time, lets its host
// answer each, and notices when the client leaves while a reply is open. Responder: the part of the program that
// answers one request.
// Made by: HttpEndpoint. When the connection ends, it calls `on_end` from a later turn of the loop, and `on_end`
// destroys it. Errors of clients are answered with a status, and end the connection where the next request's start is
// not certain.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "supervisor/base/loop.h"
#include "supervisor/protocol/http/request_parser.h"
#include "supervisor/protocol/mcp/conversation.h"
#include "supervisor/protocol/mcp/deferred_end.h"
#include "supervisor/protocol/mcp/outbox.h"
#include "supervisor/protocol/mcp/server.h"
#include "supervisor/protocol/streamable_http/authenticator.h"
#include "supervisor/protocol/streamable_http/reply.h"

namespace streamable_http {

struct HttpLimits {
  http::RequestLimits request;
  mcp::OutboxLimits outbox;
  // A conversation ends with its one request, and the client answers a question with another one.
  mcp::ConversationLimits conversation{.parked = std::chrono::minutes(10)};
  size_t pipelined_bytes = 64 << 10;               // of the next request, while a reply is open
  std::chrono::milliseconds head{10'000};          // for a request's head, from its first byte
  std::chrono::milliseconds body_silence{30'000};  // between two bytes of a body
  std::chrono::milliseconds body{300'000};         // for a whole body
  std::chrono::milliseconds idle{120'000};         // between two requests
  std::chrono::milliseconds linger{2'000};         // for the client to read a refusal
  std::chrono::milliseconds comments{15'000};      // between two comments in a silent event stream
};

// Answers one request through the ServerReply that it was made with. Destroyed in a later turn after the reply has
// ended, or at once when the client leaves.
class Responder {
 public:
  virtual ~Responder() = default;
  Responder(const Responder&) = delete;
  Responder& operator=(const Responder&) = delete;

 protected:
  Responder() = default;
};

class HttpConnection {
 public:
  // Host: the owner of connections, which decides about their requests.
  class Host {
   public:
    virtual ~Host() = default;
    // The answer that refuses a request. It is sent after `delay`; `slot` is held until then. ends: the connection
    // ends without an answer.
    struct Refusal {
      Refusal(HttpAnswer refused) : answer(std::move(refused)) {}  // NOLINT: an answer that is sent at once
      HttpAnswer answer;
      std::chrono::milliseconds delay{0};
      std::shared_ptr<void> slot = nullptr;
      bool ends = false;
    };
    // The head of a request was read. nullopt: the request is taken, and connection.client() is set for it.
    virtual std::optional<Refusal> check(HttpConnection& connection, const http::IncomingRequest& head) = 0;
    // The request is whole. The connection is valid as long as the responder. nullptr: `reply` has ended already.
    virtual std::unique_ptr<Responder> respond(HttpConnection& connection, http::IncomingRequest request,
                                               ServerReply& reply) = 0;
  };
  struct Accepted {
    Fd socket;          // connected, non-blocking
    std::string bytes;  // were read from the socket already
    std::shared_ptr<const Authenticator> authenticator;
    std::optional<mcp::Conversation::Client> client;  // known already: the peer of a Unix socket
    std::string own_address;                          // of the listening TCP socket, "127.0.0.1:9470"; empty: Unix
    std::string client_address;                       // without the port, "127.0.0.1"; empty: Unix
  };
  // All references must outlive the connection. Errors: internal, the loop cannot watch the socket.
  static Result<std::unique_ptr<HttpConnection>> open(Loop& loop, mcp::Server& server, Host& host, Accepted accepted,
                                                      const HttpLimits& limits, std::function<void()> on_end);
  ~HttpConnection();
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  const Authenticator& authenticator() const { return *authenticator_; }
  const std::string& own_address() const { return own_address_; }
  const std::string& client_address() const { return client_address_; }
  // The principal of the newest request, with its data.
  const std::optional<mcp::Conversation::Client>& client() const { return client_; }
  void set_client(mcp::Conversation::Client client);
  // Further fields of the next reply, each with its \r\n. Call it while the head of the request is checked.
  void set_reply_fields(std::string fields) { reply_fields_ = std::move(fields); }
  // Whether no reply is open: the connection waits for its client.
  bool is_waiting() const { return !reply_ && !closing_; }  // also while a refusal waits
  bool is_ending() const { return ending_.was_started(); }
  // Whether the open reply is a stream of events.
  bool is_streaming() const { return reply_ && reply_->was_started() && !reply_->has_ended(); }
  // Whether a part of a request was read, and no reply is open.
  bool is_in_request() const { return reading_; }
  // Ends the connection as if the client had left.
  void close() { end(); }
  // Ends the connection after the reply that is open, or now.
  void close_after_reply();

 private:
  HttpConnection(Loop& loop, mcp::Server& server, Host& host, AsyncFd socket, Accepted accepted,
                 const HttpLimits& limits, std::function<void()> on_end);
  Task<> read();
  bool receive();
  void handle_input();
  bool handle_progress(size_t used);
  bool handle_head();
  bool charge_input();
  void request_is_over();
  void make_reply(ServerReply::Form form);
  void start_reply();
  void refuse(HttpAnswer answer);
  void refuse_later(Host::Refusal refusal);
  void end_reply();
  void wait_for_request();
  void wait_for_body();
  void close_when_written();
  void settle();
  void on_room();
  void end();

  Loop& loop_;
  mcp::Server& server_;
  Host& host_;
  const HttpLimits& limits_;
  AsyncFd socket_;
  std::shared_ptr<const Authenticator> authenticator_;
  const std::string own_address_, client_address_;
  std::optional<mcp::Conversation::Client> client_;
  std::shared_ptr<LoopShare> share_;  // of the principal; before it is known, of all unknown clients together
  mcp::DeferredEnd ending_;
  mcp::Outbox outbox_;
  http::RequestParser parser_;
  std::string input_;   // bytes that the parser did not take
  size_t charged_ = 0;  // bytes of the request that are charged to the account
  std::shared_ptr<mcp::Account> charged_to_;
  bool reading_ = false;                  // a part of a request was read
  bool has_head_ = false;                 // host_.check() has looked at the head of that request
  bool closes_ = false;                   // no request follows the one that is being answered
  bool closing_ = false;                  // the last reply was made; what comes is dropped
  size_t dropped_ = 0;                    // bytes, while closing
  std::optional<Host::Refusal> delayed_;  // is sent later; what comes meanwhile is dropped
  Deadline patience_, body_;
  std::optional<mcp::Server::Busy> writing_;  // while the outbox is not empty
  std::optional<ServerReply> reply_;
  std::string reply_fields_;
  std::unique_ptr<Responder> responder_;
  std::shared_ptr<HttpConnection*> self_;  // for callbacks that may run after the destructor
  std::optional<Task<>> reader_;
};

}  // namespace streamable_http
