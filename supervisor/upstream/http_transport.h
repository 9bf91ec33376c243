// HttpTransport: the Streamable HTTP transport of MCP. A message is a POST. Its answer is the body of the reply, or an
// event of the reply's stream.
// Up to 2025-11-25 there are a session (Mcp-Session-Id) that the server may forget, a GET stream for messages that
// answer no request, and a DELETE that ends the session; a reply's stream that breaks off before the answer is resumed
// (resumption.h). Since 2026-07-28 all four are absent: closing a reply cancels its request.
// With a source of tokens, each request has one in `Authorization`. If the server answers 401, the token is renewed
// once, and the request, which it did not take, is sent again. Otherwise a request is sent once. If its answer cannot
// be had, the error says that the call may have run. Source: specification, basic/transports of 2025-11-25 and
// 2026-07-28. Used by: upstream_servers.cc. Redirects are not followed.
#pragma once
#include <map>
#include <memory>

#include "supervisor/protocol/http/client.h"
#include "supervisor/protocol/http/event_stream.h"
#include "supervisor/upstream/authorization/login_service.h"
#include "supervisor/upstream/resumption.h"
#include "supervisor/upstream/secrets.h"
#include "supervisor/upstream/transport.h"

namespace upstream {

class HttpTransport : public Transport {
 public:
  // `secrets`: names and values of headers. `config` must outlive the transport. `tokens`: nullptr: none are sent.
  HttpTransport(Loop& loop, std::shared_ptr<http::HttpClient> client, const ServerConfig& config,
                const Variables& secrets, std::shared_ptr<oauth::BearerTokens> tokens = nullptr);
  ~HttpTransport() override;

  void begin(Listener listener) override { listener_ = std::move(listener); }
  void send(const Json& message, Arguments arguments) override;
  void cancel(int64_t id) override;
  void answered(int64_t id) override;
  void speak(const std::string& version) override { version_ = version; }
  void close() override;
  bool full() const override;
  uint64_t received() const override { return received_; }
  bool needs_login() const override { return needs_login_; }
  Variables late_secrets() const override;

 private:
  struct Message {
    std::string text, method;
    std::optional<int64_t> id;  // only of a request
    Headers headers;
  };
  struct Post;
  void post(Message message);
  Task<> carry(std::shared_ptr<Post> post, Message message);
  Task<> converse(Message& message, Post& post);
  // Gets the token of the next request; after a 401 with the token `refused`, another one.
  Task<Result<>> take_token();
  Task<Result<>> replace_token(std::string refused);
  // Sends the message, and returns its reply as soon as it has a head.
  struct Reply {
    std::unique_ptr<http::Exchange> exchange;
    Result<http::ReplyHead> head;
  };
  Task<Reply> send_post(Message& message);
  Error refusal_of(const http::ReplyHead& head, const std::string& body) const;
  Task<> listen();
  struct StreamEnd {
    std::optional<Error> why;  // nullopt: the server ended the stream
    bool is_lost = false;      // a part of the stream was dropped: it must not be resumed
  };
  // Reads events until the stream ends.
  Task<StreamEnd> read_stream(http::Exchange& exchange, std::optional<int64_t> of, size_t& reserved,
                              Resumption& resumption);
  // Reads the stream of a reply until its answer came, and resumes it where it breaks off.
  Task<> take_stream(std::unique_ptr<http::Exchange> exchange, const Message& message, Post& post);
  // Waits, and asks for the rest of a stream. nullptr: this attempt failed. Errors: the server does not resume it.
  Task<Result<std::unique_ptr<http::Exchange>>> reopen(const Resumption& resumption, std::chrono::milliseconds pause);
  std::unique_ptr<http::Exchange> get_stream(const Resumption& resumption);
  Task<Result<std::string>> read_body(http::Exchange& exchange, size_t max, size_t& reserved);
  Result<> reserve(size_t& reserved, size_t now);
  Task<> take_refusal(const http::ReplyHead& head, const Message& message, const std::string& body);
  // Whether the server may have begun the call. The error says so then, because the call may have had effects.
  enum class MayHaveRun { no, yes };
  // The message was not answered, and will not be.
  void give_up(const Message& message, Error error, MayHaveRun may_have_run);
  void unreached(const Message& message, Error error, MayHaveRun may_have_run);
  http::ClientRequest request(std::string method) const;
  void over(Error why);

  Loop& loop_;
  std::shared_ptr<http::HttpClient> client_;
  const ServerConfig& config_;
  http::Headers headers_;
  Listener listener_;
  std::string version_, session_;
  std::shared_ptr<oauth::BearerTokens> tokens_;  // nullptr: none are sent
  std::string token_;                            // of the next request
  bool needs_login_ = false;                     // the last request: no token could be had, or it was refused
  Variables hidden_;                             // secret texts that no error may show
  bool settling_ = false;                        // "initialized" is being sent; later messages wait in waiting_
  std::vector<Message> waiting_;
  std::map<uint64_t, std::shared_ptr<Post>> posts_;
  uint64_t last_post_ = 0, received_ = 0;
  size_t received_bytes_ = 0;  // bytes of incomplete replies
  bool over_ = false;
  std::shared_ptr<HttpTransport*> self_;  // weak references guard work in later turns of the loop
  Scope tasks_;                           // last: cancelled first
};

// `text` as a header's value: unchanged, or as "=?base64?...?=".
std::string header_value(std::string_view text);

}  // namespace upstream
