#include "supervisor/protocol/http/event_stream.h"

#include <algorithm>
#include <charconv>

namespace http {
namespace {

constexpr std::string_view kMark = "\xEF\xBB\xBF";  // byte order mark, only at the start

// An id goes into the header Last-Event-ID: visible ASCII and inner spaces.
bool is_usable_id(std::string_view id) {
  const bool plain = std::all_of(id.begin(), id.end(), [](unsigned char c) { return c >= ' ' && c < 0x7f; });
  return plain && id.size() <= EventStream::kMaxId && !id.starts_with(' ') && !id.ends_with(' ');
}

}  // namespace

void EventStream::feed(std::string_view bytes) {
  if (too_large_) return;
  if (begin_ > 0 && begin_ >= bytes_.size() / 2) {
    bytes_.erase(0, begin_);
    scanned_ -= begin_;
    begin_ = 0;
  }
  bytes_ += bytes;
}

std::optional<EventStream::Event> EventStream::next() {
  while (!too_large_) {
    if (after_return_ && begin_ < bytes_.size()) {
      after_return_ = false;
      if (bytes_[begin_] == '\n') begin_++;
    }
    scanned_ = std::max(scanned_, begin_);
    const size_t end = bytes_.find_first_of("\r\n", scanned_);
    if (end == bytes_.npos) {
      scanned_ = bytes_.size();
      too_large_ = bytes_.size() - begin_ > max_bytes_;
      return {};
    }
    std::string_view line = std::string_view(bytes_).substr(begin_, end - begin_);
    if (std::exchange(at_start_, false) && line.starts_with(kMark)) line.remove_prefix(kMark.size());
    after_return_ = bytes_[end] == '\r';
    auto event = read_line(line);
    begin_ = scanned_ = end + 1;
    if (event) return event;
  }
  return {};
}

std::optional<EventStream::Event> EventStream::read_line(std::string_view line) {
  if (line.empty()) {
    last_id_ = id_;
    has_ids_ = has_id_;
    Event event = std::exchange(event_, {});
    if (!std::exchange(has_data_, false)) return {};
    if (event.type.empty()) event.type = "message";
    return event;
  }
  const size_t colon = line.find(':');
  const std::string_view name = line.substr(0, colon);
  std::string_view value = colon == line.npos ? std::string_view() : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (name == "data") {
    if (has_data_) event_.data += '\n';
    has_data_ = true;
    event_.data += value;
    if (event_.data.size() > max_bytes_) too_large_ = true;
    return {};
  }
  noise_ += line.size() + 1;
  if (name == "event") event_.type = value.substr(0, 64);
  if (name == "id") {
    id_ = is_usable_id(value) ? value : std::string_view();
    has_id_ = true;
  }
  if (name == "retry") {
    unsigned number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error == std::errc() && end == value.data() + value.size()) retry_ms_ = number;
  }
  return {};
}

}  // namespace http
