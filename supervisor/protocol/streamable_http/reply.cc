#include "supervisor/protocol/streamable_http/reply.h"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace streamable_http {
namespace {

constexpr std::array<std::pair<int, std::string_view>, 16> kStatusTexts = {{{200, "OK"},
                                                                            {202, "Accepted"},
                                                                            {204, "No Content"},
                                                                            {400, "Bad Request"},
                                                                            {401, "Unauthorized"},
                                                                            {403, "Forbidden"},
                                                                            {404, "Not Found"},
                                                                            {405, "Method Not Allowed"},
                                                                            {406, "Not Acceptable"},
                                                                            {408, "Request Timeout"},
                                                                            {413, "Content Too Large"},
                                                                            {415, "Unsupported Media Type"},
                                                                            {417, "Expectation Failed"},
                                                                            {431, "Request Header Fields Too Large"},
                                                                            {501, "Not Implemented"},
                                                                            {503, "Service Unavailable"}}};

std::string_view status_text(int status) {
  for (const auto& [number, text] : kStatusTexts)
    if (number == status) return text;
  return "Error";
}

}  // namespace

ServerReply::ServerReply(Loop& loop, mcp::Outbox& outbox, Form form, std::chrono::milliseconds comments,
                         std::function<void()> on_end)
    : loop_(loop), outbox_(outbox), form_(std::move(form)), comments_(comments), on_end_(std::move(on_end)) {}

void ServerReply::begin(int status, std::string_view headers, std::optional<size_t> length) {
  has_started_ = true;
  std::string head = fmt::format("HTTP/1.1 {} {}\r\n{}{}", status, status_text(status), headers, form_.fields);
  if (length) head += fmt::format("Content-Length: {}\r\n", *length);
  if (!form_.keeps_alive) head += "Connection: close\r\n";
  outbox_.send_bytes(std::move(head.append("\r\n")));
}

void ServerReply::send(HttpAnswer answer) {
  if (has_started_) return;
  const mcp::Outbox::Cork cork(outbox_);
  if (!answer.body.empty()) answer.headers += fmt::format("Content-Type: {}\r\n", kJson);
  begin(answer.status, answer.headers, answer.body.size());
  if (form_.has_body && !answer.body.empty()) outbox_.send_bytes(std::move(answer.body));
  end();
}

void ServerReply::begin_events(std::string_view headers) {
  if (has_started_) return;
  if (form_.is_http_1_0) form_.keeps_alive = false;
  // X-Accel-Buffering: nginx passes each event on at once.
  std::string all = "Content-Type: text/event-stream\r\nCache-Control: no-cache\r\nX-Accel-Buffering: no\r\n";
  all += headers;
  if (!form_.is_http_1_0) all += "Transfer-Encoding: chunked\r\n";
  begin(200, all, {});
  comment_later();
}

void ServerReply::chunk(std::string_view bytes) {
  if (form_.is_http_1_0) {
    outbox_.send_bytes(std::string(bytes));
  } else {
    std::string framed;
    framed.reserve(bytes.size() + 24);
    framed += fmt::format("{:x}\r\n", bytes.size());
    framed.append(bytes).append("\r\n");
    outbox_.send_bytes(std::move(framed));
  }
  comment_later();
}

void ServerReply::event(std::string_view id, std::string_view data) {
  if (has_ended_) return;
  std::string text;
  text.reserve(id.size() + data.size() + 40);
  if (!id.empty()) text.append("id: ").append(id).append("\n");
  text.append("event: message\ndata: ").append(data).append("\n\n");
  chunk(text);
}

void ServerReply::priming_event(std::string_view id, std::chrono::milliseconds retry) {
  if (!has_ended_) chunk(fmt::format("id: {}\nretry: {}\ndata: \n\n", id, retry.count()));
}

void ServerReply::comment_later() {
  comment_ = Deadline(loop_, comments_, [this] {
    if (!outbox_.full()) return chunk(":\n\n");
    comment_later();
  });
}

void ServerReply::end_events() {
  if (!has_started_ || has_ended_) return;
  if (!form_.is_http_1_0) outbox_.send_bytes("0\r\n\r\n");
  end();
}

void ServerReply::end() {
  has_ended_ = true;
  comment_ = {};
  on_end_();
}

}  // namespace streamable_http
