// HttpTransport: Streamable HTTP of MCP. A message is a POST; its answer the reply, or an event of the reply's stream.
// Until 2025-11-25 there is a session (Mcp-Session-Id) that the server may forget, a stream of its own for what it says
// unasked (GET), and an end (DELETE). Since 2026-07-28 there is none of it: closing a reply cancels its request.
// Source: specification, basic/transports of 2025-11-25 and 2026-07-28. Redirects are not followed.
#pragma once
#include <map>
#include <memory>

#include "supervisor/http/client.h"
#include "supervisor/http/event_stream.h"
#include "supervisor/upstream/secrets.h"
#include "supervisor/upstream/transport.h"

namespace upstream {

class HttpTransport : public Transport {
 public:
  // `secrets`: values of headers. The configuration must outlive this.
  HttpTransport(Loop& loop, std::shared_ptr<http::HttpClient> client, const ServerConfig& config,
                const Variables& secrets);
  ~HttpTransport() override;

  void begin(Listener listener) override { listener_ = std::move(listener); }
  void send(const Json& message, Arguments arguments) override;
  void cancel(int64_t id) override;
  void answered(int64_t id) override;
  void speak(const std::string& version) override { version_ = version; }
  void close() override;
  bool full() const override;
  uint64_t heard() const override { return heard_; }

 private:
  struct Message {
    std::string text, method;
    std::optional<int64_t> id;  // of a request
    Headers headers;
  };
  struct Post;
  void post(Message message);
  Task<> carry(std::shared_ptr<Post> post, Message message);
  Task<> converse(Message& message, size_t& held);
  Task<> listen();
  // Until the stream ends. Errors: why it broke off.
  Task<Result<>> read_stream(http::Exchange& exchange, std::optional<int64_t> of, size_t& held);
  Task<Result<std::string>> read_body(http::Exchange& exchange, size_t most, size_t& held);
  Result<> hold(size_t& held, size_t now);
  Task<> take_refusal(const http::ReplyHead& head, const Message& message, const std::string& body);
  void unreached(const Message& message, Error error);
  http::ClientRequest request(std::string method) const;
  void over(Error why);

  Loop& loop_;
  std::shared_ptr<http::HttpClient> client_;
  const ServerConfig& config_;
  http::Headers headers_;
  Listener listener_;
  std::string version_, session_;
  Variables hidden_;       // what no error may show
  bool settling_ = false;  // "initialized" is under way: what comes after it waits
  std::vector<Message> waiting_;
  std::map<uint64_t, std::shared_ptr<Post>> posts_;
  uint64_t last_post_ = 0, heard_ = 0;
  size_t held_ = 0;  // bytes of replies that are not whole yet
  bool over_ = false;
  std::shared_ptr<HttpTransport*> self_;  // for what is done in a later turn
  Scope tasks_;                           // last: cancelled first
};

// How a text is written as a header's value: as it is, or "=?base64?...?=".
std::string header_value(std::string_view text);

}  // namespace upstream
