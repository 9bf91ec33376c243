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

inline constexpr char kEventStreamType[] = "text/event-stream";

class EventStream {
 public:
  explicit EventStream(size_t max_bytes) : max_bytes_(max_bytes) {}

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
  // The `id` of the last whole event, also of an event without data. Empty: no event had an id, or the last one is
  // longer than kMaxId, or holds a character that no header can carry: then nothing can be asked for after it.
  const std::string& last_id() const { return last_id_; }
  static constexpr size_t kMaxId = 1024;  // bytes
  // Whether a whole event had the field `id`, usable or not.
  bool has_ids() const { return has_ids_; }
  // The stream's `retry` field: milliseconds to wait before the stream is opened again.
  std::optional<unsigned> retry_ms() const { return retry_ms_; }

 private:
  std::optional<Event> read_line(std::string_view line);

  size_t max_bytes_;
  std::string bytes_;
  size_t begin_ = 0, scanned_ = 0;
  bool after_return_ = false;  // the last line ended with "\r": a "\n" after it belongs to the same line end
  bool at_start_ = true;
  Event event_;
  bool has_data_ = false, too_large_ = false;
  size_t noise_ = 0;
  std::string id_, last_id_;  // of the event that is being read, and of the last whole event
  bool has_id_ = false, has_ids_ = false;
  std::optional<unsigned> retry_ms_;
};

}  // namespace http
