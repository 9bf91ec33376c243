// EventStream: the events of a text/event-stream (server-sent events, HTML living standard, section 9.2), cut out of
// its bytes. Source: a server, which is not trusted: no line and no event grows beyond the bound.
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
    std::string type;  // "message" where the stream says nothing
    std::string data;
  };
  void feed(std::string_view bytes);
  // The next whole event that has data, or nothing until more bytes come.
  std::optional<Event> next();
  // A line or an event was larger than the bound: nothing more will come.
  bool too_large() const { return too_large_; }
  // Bytes that became no event, since it was asked the last time: comments, names that nobody knows.
  size_t take_noise() { return std::exchange(noise_, 0); }
  // What the stream wants to be waited for before it is opened again; milliseconds.
  std::optional<unsigned> retry_ms() const { return retry_ms_; }

 private:
  std::optional<Event> read_line(std::string_view line);

  size_t most_bytes_;
  std::string bytes_;
  size_t begin_ = 0, scanned_ = 0;
  bool after_return_ = false;  // a newline that follows belongs to the line before
  bool at_start_ = true;
  Event event_;
  bool has_data_ = false, too_large_ = false;
  size_t noise_ = 0;
  std::optional<unsigned> retry_ms_;
};

}  // namespace http
