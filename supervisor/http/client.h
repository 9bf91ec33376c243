// HttpClient: HTTP/1.1 requests to other servers, by libcurl on our loop. Each request is an Exchange, and goes away
// with it. No proxy of the environment is used, no redirect followed, no password file read; certificates are checked.
// Source: requests are ours or an administrator's; servers are not trusted: what they say is bounded in bytes and time.
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
  std::string url;          // http:// or https://, with neither user nor password
  std::string socket;       // path of a Unix socket that is connected to instead of the URL's host; empty: none
  std::string authorities;  // PEM file: the certificate authorities that count, instead of the system's; empty: those
  Headers headers;
  std::string body;
  std::chrono::milliseconds connect{10'000};  // to find the host, and to connect
  std::chrono::milliseconds limit{30'000};    // of all that follows; 0: none
  size_t most_head = 64 << 10;                // bytes of the reply's headers
  size_t most_body = 1 << 20;                 // bytes of its body
};

struct ReplyHead {
  int status = 0;
  Headers headers;  // names in lower case
  // The first of that name, or nothing. `name` in lower case.
  std::string_view header(std::string_view name) const;
};
struct HttpReply {
  ReplyHead head;
  std::string body;
};

// One request under way. Its words are for one task at a time. Destroying it ends the request.
class Exchange {
 public:
  ~Exchange();
  Exchange(const Exchange&) = delete;
  // Once the reply's headers are there.
  Task<Result<ReplyHead>> head();
  // What has come of the body; empty: that was all. What is not read is not received either.
  Task<Result<std::string>> read();

 private:
  friend class HttpClient;
  struct State;
  explicit Exchange(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

class HttpClient {
 public:
  // Loads libcurl, the first time. Errors: unavailable: it is not installed.
  static Result<std::unique_ptr<HttpClient>> open(Loop& loop);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;

  // Errors are told by the exchange. The client must outlive it.
  std::unique_ptr<Exchange> start(ClientRequest request);
  // The whole reply.
  Task<Result<HttpReply>> fetch(ClientRequest request);

 private:
  friend struct Exchange::State;
  struct Core;
  explicit HttpClient(std::unique_ptr<Core> core);
  std::unique_ptr<Core> core_;
};

// Where a URL leads. Errors: invalid, naming what is wrong with it.
struct UrlParts {
  bool secure = false;
  std::string host;  // without the brackets of an IPv6 address
  std::string port;
};
Result<UrlParts> parse_url(std::string_view url);
// Errors: invalid: neither a header's name nor text of one line.
Result<> check_header(std::string_view name, std::string_view value);
// There is no interface but lo, as in a service with PrivateNetwork=yes.
bool only_loopback();

}  // namespace http
