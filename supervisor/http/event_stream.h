// EventStream: splits the bytes of a text/event-stream into events (server-sent events, HTML living standard, section
// 9.2). Source: a server, which is not trusted: no line and no event grows beyond the bound.
// Used by: supervisor/upstream/http_transport. Errors: too_large().
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace http {

class EventStream {
 public:
  explicit EventStream(size_t most_bytes) : most_bytes_(most_bytes) {}

  struct Event {
    std::string type;  // "message" where the stream names no type
    std::string data;
  };
  void feed(std::string_view bytes);
  // The next whole event with data; nullopt until more bytes come.
  std::optional<Event> next();
  // A line or an event was larger than the bound: next() returns no more events.
  bool too_large() const { return too_large_; }
  // Bytes of lines other than "data" since the last call, for example comments and unknown fields.
  size_t take_noise() { return std::exchange(noise_, 0); }
  // The stream's `retry` field: milliseconds to wait before the stream is opened again.
  std::optional<unsigned> retry_ms() const { return retry_ms_; }

 private:
  std::optional<Event> read_line(std::string_view line);

  size_t most_bytes_;
  std::string bytes_;
  size_t begin_ = 0, scanned_ = 0;
  bool after_return_ = false;  // the last line ended with "\r": a "\n" after it belongs to the same line end
  bool at_start_ = true;
  Event event_;
  bool has_data_ = false, too_large_ = false;
  size_t noise_ = 0;
  std::optional<unsigned> retry_ms_;
};

}  // namespace http
