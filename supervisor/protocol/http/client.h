// HttpClient: sends HTTP/1.1 requests to other servers, with libcurl on the event loop. Exchange: one request;
// destroying it ends the request. The client uses no proxy of the environment, follows no redirect and reads no
// password file. It checks certificates.
// Source: requests come from the daemon or an administrator. Servers are not trusted: replies are bounded in bytes and
// time.
// Used by: supervisor/upstream, supervisor/records/traces, supervisor/egress.
// Errors: invalid (URL, header), unavailable (not reached, too late, broken off, no libcurl), exhausted (too large).
#pragma once
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "supervisor/base/loop.h"
#include "supervisor/base/result.h"

namespace http {

using Headers = std::vector<std::pair<std::string, std::string>>;

struct ClientRequest {
  std::string method = "GET";
  std::string url;     // http:// or https://, with neither user nor password
  std::string socket;  // path of a Unix socket to connect to instead of the URL's host; empty: the URL's host
  std::vector<std::string> addresses;  // numeric ones to connect to; empty: those of the URL's host, looked up
  std::string authorities;  // PEM file with certificate authorities to trust; empty: the system's authorities
  Headers headers;
  std::string body;
  std::chrono::milliseconds connect{10'000};  // limit for finding the address of the host, and again for connecting
  std::chrono::milliseconds limit{30'000};    // limit for the connection, the request and the reply; 0: no limit
  size_t max_head = 64 << 10;                 // bytes of the reply's headers
  size_t max_body = 1 << 20;                  // bytes of the reply's body
  // The host must have public addresses only (addresses.h). For a URL that a server named. Errors: denied.
  bool is_public = false;
  // The body is sent once at most. Otherwise libcurl repeats a request, also a POST, when a kept connection ends before
  // the first byte of the reply.
  bool only_once = false;
};

struct ReplyHead {
  int status = 0;
  Headers headers;  // names in lower case
  // The value of the first header with this name; empty: no header has it. `name` is in lower case.
  std::string_view header(std::string_view name) const;
  // "text/event-stream": the Content-Type without its parameters.
  std::string_view media_type() const;
};
struct HttpReply {
  ReplyHead head;
  std::string body;
};

// One running request. Only one task at a time may call head() or read(). Destroying it ends the request.
class Exchange {
 public:
  ~Exchange();
  Exchange(const Exchange&) = delete;
  // Waits for the reply's headers.
  Task<Result<ReplyHead>> head();
  // Waits for the next part of the body; empty: the body has ended. While the caller does not read, about 256 KiB are
  // received at most.
  Task<Result<std::string>> read();
  // Whether a part of the request may have reached the server. Meaningful after an error.
  bool may_be_sent() const;

 private:
  friend class HttpClient;
  struct State;
  explicit Exchange(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

class HttpClient {
 public:
  // The first call loads libcurl. Errors: unavailable, libcurl is not installed.
  static Result<std::unique_ptr<HttpClient>> open(Loop& loop);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;

  // Starts a request. head() and read() of the exchange return its errors. The client must outlive the exchange.
  std::unique_ptr<Exchange> start(ClientRequest request);
  // Sends a request and returns the whole reply.
  Task<Result<HttpReply>> fetch(ClientRequest request);

 private:
  friend struct Exchange::State;
  struct Core;
  explicit HttpClient(std::unique_ptr<Core> core);
  std::unique_ptr<Core> core_;
};

// The parts of a URL that name the server. Errors of parse_url(): invalid, naming the problem.
struct UrlParts {
  bool secure = false;
  std::string host;  // without the brackets of an IPv6 address
  std::string port;
};
Result<UrlParts> parse_url(std::string_view url);
// Errors: invalid, `name` is no name of a header, or `value` is not one line.
Result<> check_header(std::string_view name, std::string_view value);

}  // namespace http
