// HttpRequest and Response: HTTP/1 messages of a small server. A connection has one request, without a body, and one
// answer.
// Source: untrusted bytes. Used by: Endpoint, `warder dashboard`. No errors: every text gets an answer.
#pragma once
#include <functional>
#include <string>
#include <string_view>

namespace http {

inline constexpr size_t kLongestRequest = 8 << 10;

struct HttpRequest {  // GET or HEAD; the parts are not decoded
  std::string_view path, query;
  std::string_view host;  // value of the Host header; empty: no Host header, or more than one
};

struct Response {
  std::string status;  // "200 OK"
  std::string type;
  std::string body;
  std::string headers;  // further ones, each with its \r\n
};
Response refusal(std::string_view status, std::string_view why, std::string_view headers = {});

using Handler = std::function<Response(const HttpRequest&)>;

// Whether `request` contains the end of the request's headers.
bool is_whole(std::string_view request);
// Returns an HTTP/1.0 answer; close the connection after it. `handler` is called only for GET and HEAD.
std::string answer_to(std::string_view request, const Handler& handler);

}  // namespace http
