// A server with the tools of tests/supervisor/protocol/mcp/harness.h behind an HttpEndpoint, and HTTP clients on the
// same loop. Every wait has a bound.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "supervisor/protocol/streamable_http/endpoint.h"
#include "tests/supervisor/protocol/mcp/harness.h"

namespace http_test {

using mcp_test::settle;
using mcp_test::wait_until;

// The bytes of an HTTP answer, taken apart as they come.
struct Answer {
  int status = 0;
  std::string head;  // with the status line
  std::string body;  // without the framing of chunks
  bool full = false;
  std::string header(std::string_view name) const;  // empty: absent
  Json json() const { return Json::parse(body); }
  // The data of the events in the body, those with data.
  std::vector<Json> events() const;
  std::vector<std::string> event_ids() const;
};

class HttpClient {
 public:
  HttpClient(Loop& loop, Fd socket);
  void write(std::string_view bytes);
  // Waits for the whole answer to the oldest request that has none.
  Answer answer();
  // Waits until the answer has begun and `done` is true of it.
  Answer partly(const std::function<bool(const Answer&)>& done);
  bool at_end();  // waits for the end of the connection
  bool is_at_end() const { return ended_; }
  bool silent();  // no byte has come, also after the server had its turns
  void close();
  void stop_reading() { reader_.reset(); }
  const std::string& received() const { return received_; }

 private:
  Task<> read();
  Answer parse() const;
  Loop& loop_;
  AsyncFd socket_;
  std::string received_;
  bool ended_ = false;
  std::optional<Task<>> reader_;
};

// "Bearer NAME" is the principal NAME; every other request is refused.
class NamedAuthenticator : public streamable_http::Authenticator {
 public:
  tl::expected<mcp::Principal, streamable_http::Denial> authenticate(
      const http::IncomingRequest& request) const override;
};

struct HttpFixture : mcp_test::Fixture {
  streamable_http::EndpointLimits http_limits;
  streamable_http::HttpSettings settings;
  std::unique_ptr<streamable_http::HttpEndpoint> endpoint;
  size_t admitted = 0;

  // Call it after the limits were changed; connect() does, too.
  streamable_http::HttpEndpoint& http();
  // A client with the credentials of this process.
  std::unique_ptr<HttpClient> connect_http();
  // A client whose requests name its principal.
  std::unique_ptr<HttpClient> connect_tcp();
  // A session of 2025-11-25, begun through `client`. Returns its Mcp-Session-Id.
  std::string begin_session(HttpClient& client, const std::string& version = "2025-11-25",
                            const std::string& headers = "");
};

// The text of a POST. `headers`: each with its \r\n.
std::string post(const std::string& body, const std::string& headers = "");
// The text of a POST of 2026-07-28, with the headers that its body asks for.
std::string modern_post(const Json& message, const std::string& headers = "");
std::string session_post(const std::string& session, const Json& message);
std::string get(const std::string& session, const std::string& headers = "");

}  // namespace http_test
