#include "supervisor/protocol/http/message.h"

#include <fmt/format.h>
#include <strings.h>

#include <charconv>
#include <utility>

#include "supervisor/base/trimmed.h"

namespace http {
namespace {

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

// The value of a header; empty if there are two of them, because neither can be trusted. `name` is in lower case.
std::string_view value_of(std::string_view name, std::string_view headers) {
  std::string_view value;
  bool is_present = false;
  while (!headers.empty()) {
    const std::string_view line = take_line(headers);
    if (line.empty()) break;
    if (line.size() <= name.size() || line[name.size()] != ':') continue;
    if (::strncasecmp(line.data(), name.data(), name.size()) != 0) continue;
    if (std::exchange(is_present, true)) return {};
    value = trimmed(line.substr(name.size() + 1));
  }
  return value;
}

size_t end_of_headers(std::string_view request) {
  const size_t end = request.find("\r\n\r\n"), short_end = request.find("\n\n");
  if (end < short_end) return end + 4;
  return short_end == request.npos ? request.npos : short_end + 2;
}

// The length of the body. Absent: no number, or more than a request may have.
std::optional<size_t> body_size(std::string_view headers) {
  const std::string_view text = value_of("content-length", headers);
  size_t size = 0;
  const auto [parsed, wrong] = std::from_chars(text.data(), text.data() + text.size(), size);
  if (text.empty() || wrong != std::errc() || parsed != text.data() + text.size() || size > kMaxRequest)
    return std::nullopt;
  return size;
}

bool is_post(std::string_view request) { return request.starts_with("POST "); }

}  // namespace

Response refusal(std::string_view status, std::string_view why, std::string_view headers) {
  return {std::string(status), "text/plain; charset=utf-8", fmt::format("{}\n", why), std::string(headers)};
}

bool is_whole(std::string_view request) {
  const size_t headers = end_of_headers(request);
  if (headers == request.npos) return false;
  if (!is_post(request)) return true;
  return request.size() >= headers + body_size(request.substr(0, headers)).value_or(0);
}

ReadRequest read_request(std::string_view request, Methods methods) {
  const size_t end = end_of_headers(request);
  if (end == request.npos) return {{}, refusal("431 Request Header Fields Too Large", "at most 8 KiB")};
  std::string_view headers = request.substr(0, end);
  std::string_view line = take_line(headers);
  HttpRequest http_request;
  http_request.method = take(line, ' ');
  std::string_view target = take(line, ' ');
  if (line != "HTTP/1.0" && line != "HTTP/1.1")
    return {{}, refusal("400 Bad Request", "this is not an HTTP/1 request")};
  const bool post = http_request.method == "POST" && methods == Methods::read_and_post;
  if (http_request.method != "GET" && http_request.method != "HEAD" && !post) {
    if (methods == Methods::read)
      return {{}, refusal("405 Method Not Allowed", "use the method GET", "Allow: GET, HEAD\r\n")};
    return {{}, refusal("405 Method Not Allowed", "use GET or POST", "Allow: GET, HEAD, POST\r\n")};
  }
  http_request.path = take(target, '?');
  http_request.query = target;
  http_request.host = value_of("host", headers);
  http_request.origin = value_of("origin", headers);
  http_request.content_type = value_of("content-type", headers);
  if (post) {
    const auto size = body_size(headers);
    if (!size) return {{}, refusal("411 Length Required", "give a Content-Length of at most 8 KiB, once")};
    if (request.size() < end + *size) return {{}, refusal("413 Content Too Large", "at most 8 KiB with the headers")};
    http_request.body = request.substr(end, *size);
  }
  return {http_request, {}};
}

std::string text_of(const Response& response, std::string_view method) {
  const std::string_view body = method == "HEAD" ? std::string_view() : response.body;
  return fmt::format("HTTP/1.0 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n{}\r\n{}",
                     response.status, response.type, response.body.size(), response.headers, body);
}

std::string answer_to(std::string_view request, const Handler& handler) {
  const ReadRequest read = read_request(request, Methods::read);
  return read.requested ? text_of(handler(*read.requested), read.requested->method) : text_of(read.refused, "GET");
}

}  // namespace http
