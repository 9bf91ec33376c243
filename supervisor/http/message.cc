#include "supervisor/http/message.h"

#include <fmt/format.h>
#include <strings.h>

#include "supervisor/base/trimmed.h"

namespace http {
namespace {

std::string text_of(const Response& response) {
  return fmt::format("HTTP/1.0 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n{}\r\n{}",
                     response.status, response.type, response.body.size(), response.headers, response.body);
}

// Removes the part before the next separator, and the separator, from `text`. Returns the part.
std::string_view take(std::string_view& text, char separator) {
  const size_t end = text.find(separator);
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(end == text.npos ? text.size() : end + 1);
  return part;
}

std::string_view take_line(std::string_view& text) {
  std::string_view line = take(text, '\n');
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

// The value of the Host header; empty for two Host headers, because neither can be trusted.
std::string_view host_of(std::string_view headers) {
  constexpr std::string_view kName = "host:";
  std::string_view host;
  while (!headers.empty()) {
    const std::string_view line = take_line(headers);
    if (line.empty()) break;
    if (line.size() < kName.size() || ::strncasecmp(line.data(), kName.data(), kName.size()) != 0) continue;
    if (!host.empty()) return {};
    host = trimmed(line.substr(kName.size()));
  }
  return host;
}

}  // namespace

Response refusal(std::string_view status, std::string_view why, std::string_view headers) {
  return {std::string(status), "text/plain; charset=utf-8", fmt::format("{}\n", why), std::string(headers)};
}

bool is_whole(std::string_view request) {
  return request.find("\r\n\r\n") != request.npos || request.find("\n\n") != request.npos;
}

std::string answer_to(std::string_view request, const Handler& handler) {
  if (!is_whole(request)) return text_of(refusal("431 Request Header Fields Too Large", "at most 8 KiB"));
  std::string_view line = take_line(request);
  const std::string_view method = take(line, ' ');
  std::string_view target = take(line, ' ');
  if (line != "HTTP/1.0" && line != "HTTP/1.1")
    return text_of(refusal("400 Bad Request", "this is not an HTTP/1 request"));
  if (method != "GET" && method != "HEAD")
    return text_of(refusal("405 Method Not Allowed", "use the method GET", "Allow: GET, HEAD\r\n"));
  HttpRequest asked;
  asked.path = take(target, '?');
  asked.query = target;
  asked.host = host_of(request);
  std::string whole = text_of(handler(asked));
  if (method == "HEAD") whole.resize(whole.find("\r\n\r\n") + 4);
  return whole;
}

}  // namespace http
