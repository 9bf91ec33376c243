// ServerReply: the answer to one HTTP request: a whole body, or a stream of server-sent events (HTML living standard,
// section 9.2). HttpAnswer: a whole answer.
// Made by: HttpConnection, for each request. Used by: responders. Errors: none; if the client has left, the bytes are
// dropped, as by Outbox.
#pragma once
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "supervisor/base/loop.h"
#include "supervisor/protocol/mcp/outbox.h"

namespace streamable_http {

inline constexpr std::string_view kJson = "application/json";

struct HttpAnswer {
  int status = 200;
  std::string body;     // JSON; empty: no body
  std::string headers;  // further fields, each with its \r\n
};

class ServerReply {
 public:
  struct Form {
    bool is_http_1_0 = false;  // no chunks: the end of the connection ends a stream
    bool keeps_alive = true;   // the connection stays open after the reply
    bool has_body = true;      // false: the reply to HEAD
    std::string fields = {};   // further fields of the reply, each with its \r\n
  };
  // `on_end` is called inside the function that ends the reply. `comments`: the time without an event after which a
  // comment is sent, so that proxies and clients see that the stream is alive.
  ServerReply(Loop& loop, mcp::Outbox& outbox, Form form, std::chrono::milliseconds comments,
              std::function<void()> on_end);
  ServerReply(const ServerReply&) = delete;
  ServerReply& operator=(const ServerReply&) = delete;

  // A whole answer, which ends the reply. Ignored after begin_events().
  void send(HttpAnswer answer);

  // Begins a stream of events. `headers`: further fields, each with its \r\n.
  void begin_events(std::string_view headers = {});
  // One event. `data` is one line. `id`: empty: the event has none.
  void event(std::string_view id, std::string_view data);
  // An event without data, from which a client can resume the stream. `retry`: how long it shall wait before.
  void priming_event(std::string_view id, std::chrono::milliseconds retry);
  void end_events();

  bool was_started() const { return has_started_; }
  bool has_ended() const { return has_ended_; }
  bool keeps_alive() const { return form_.keeps_alive; }
  mcp::Outbox& outbox() { return outbox_; }

 private:
  void begin(int status, std::string_view headers, std::optional<size_t> length);
  void chunk(std::string_view bytes);
  void comment_later();
  void end();

  Loop& loop_;
  mcp::Outbox& outbox_;
  Form form_;
  std::chrono::milliseconds comments_;
  std::function<void()> on_end_;
  bool has_started_ = false, has_ended_ = false;
  Deadline comment_;
};

// "HTTP/1.1 100 Continue": the client shall send the body.
inline constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

}  // namespace streamable_http
