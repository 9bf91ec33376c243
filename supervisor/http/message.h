// HTTP/1 as far as it takes to show something: one request, without a body, for each connection, and its answer.
// Source: untrusted bytes. No errors: every text has an answer.
#pragma once
#include <functional>
#include <string>
#include <string_view>

namespace http {

inline constexpr size_t kLongestRequest = 8 << 10;

struct HttpRequest {  // GET or HEAD; parts of the text as they came
  std::string_view path, query;
  std::string_view host;  // of its header; empty: none
};

struct Response {
  std::string status;  // "200 OK"
  std::string type;
  std::string body;
  std::string headers;  // further ones, each with its \r\n
};
Response refusal(std::string_view status, std::string_view why, std::string_view headers = {});

using Handler = std::function<Response(const HttpRequest&)>;

// Whether its head is there to the end.
bool is_whole(std::string_view request);
// HTTP/1.0, to be followed by the end of the connection. `handler` is asked for GET and HEAD alone.
std::string answer_to(std::string_view request, const Handler& handler);

}  // namespace http
