// HttpRequest and Response: HTTP/1 messages of a small server. A connection has one request and one answer.
// Source: untrusted bytes. Used by: Endpoint, `warder dashboard`. No errors: every text gets an answer.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace http {

inline constexpr size_t kMaxRequest = 8 << 10;  // headers and body together

struct HttpRequest {        // the parts are not decoded
  std::string_view method;  // GET, HEAD, or POST where the server takes it
  std::string_view path, query;
  // Values of headers; empty: no header of that name, or more than one.
  std::string_view host, origin, content_type;
  std::string_view body;  // of a POST
};

struct Response {
  std::string status;  // "200 OK"
  std::string type;
  std::string body;
  std::string headers;  // further ones, each with its \r\n
};
Response refusal(std::string_view status, std::string_view why, std::string_view headers = {});

using Handler = std::function<Response(const HttpRequest&)>;

enum class Methods { read, read_and_post };  // GET and HEAD; also POST
struct ReadRequest {
  std::optional<HttpRequest> requested;  // absent: answer with `refused`
  Response refused;
};

// Whether `request` contains the end of the request's headers, and of its body if it is a POST.
bool is_whole(std::string_view request);
// The parts of a request, which point into its text.
ReadRequest read_request(std::string_view request, Methods methods);
// The bytes of an HTTP/1.0 answer to a request of that method; close the connection after them.
std::string text_of(const Response& response, std::string_view method);
// Reads a request and answers it. `handler` is called only for GET and HEAD.
std::string answer_to(std::string_view request, const Handler& handler);

}  // namespace http
