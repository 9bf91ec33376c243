#include "supervisor/base/line_splitter.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace {
constexpr size_t kSmall = 16 << 10;     // bytes of the first buffer; an idle connection keeps at most 4 times as much
constexpr size_t kKeptFrom = 64 << 10;  // bytes; keep() shares the buffer only for larger items
constexpr size_t kChunk = 256 << 10;    // bytes in one read, so that one connection cannot hold the loop
}  // namespace

std::span<char> LineSplitter::space() {
  if (begin_ == end_) {
    begin_ = scanned_ = end_ = 0;
    if (capacity_ > 4 * kSmall) {
      buffer_.reset();  // a large line has passed
      capacity_ = 0;
    }
  }
  if (end_ == capacity_) make_room();
  return {buffer_.get() + end_, std::min(capacity_ - end_, kChunk)};
}

void LineSplitter::make_room() {
  const size_t buffered = end_ - begin_;
  if (begin_ > 0 && buffered <= capacity_ / 2 && buffer_.use_count() == 1) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, buffered);
  } else {
    // The longest line, "\r\n" and one byte more always fit, so the buffer is never full before a line is known to be
    // too long.
    const size_t grown = std::max(std::min(std::max(capacity_ * 2, kSmall), max_line_ + 3), buffered + 1);
    std::shared_ptr<char[]> larger = std::make_unique_for_overwrite<char[]>(grown);
    if (buffered > 0) std::memcpy(larger.get(), buffer_.get() + begin_, buffered);
    buffer_ = std::move(larger);
    capacity_ = grown;
  }
  scanned_ -= begin_;
  end_ = buffered;
  begin_ = 0;
}

std::shared_ptr<const char> LineSplitter::keep(const Item& item) {
  if (item.text.size() <= kKeptFrom) return {};
  return {buffer_, buffer_.get()};
}

std::optional<LineSplitter::Item> LineSplitter::item(size_t begin, size_t end) const {
  std::string_view text(buffer_.get() + begin, end - begin);
  if (text.ends_with('\r')) text.remove_suffix(1);
  if (text.size() > max_line_) {
    EnvelopeScan scan;
    scan.feed(text);
    return Item{Kind::too_long, {}, scan.found()};
  }
  if (text.find_first_not_of(" \t\r") == text.npos) return {};
  return Item{Kind::line, text, {}};
}

// The bytes before `end` belong to a line longer than max_line_.
void LineSplitter::discard(size_t end) {
  scan_.feed({buffer_.get() + begin_, end - begin_});
  begin_ = end;
}

LineSplitter::Item LineSplitter::discarded() {
  discarding_ = false;
  Item item{Kind::too_long, {}, scan_.found()};
  scan_ = {};
  return item;
}

std::optional<LineSplitter::Item> LineSplitter::next() {
  while (scanned_ < end_) {
    const void* match = std::memchr(buffer_.get() + scanned_, '\n', end_ - scanned_);
    if (match == nullptr) {
      scanned_ = end_;
      break;
    }
    const size_t newline = static_cast<size_t>(static_cast<const char*>(match) - buffer_.get());
    scanned_ = newline + 1;
    if (discarding_) {
      discard(newline);
      begin_ = scanned_;
      return discarded();
    }
    if (auto complete_line = item(std::exchange(begin_, scanned_), newline)) return complete_line;
  }
  // One byte more may be the "\r" of a line with exactly max_line_ bytes.
  if (end_ - begin_ > max_line_ + 1) discarding_ = true;
  if (discarding_) discard(end_);
  return {};
}

std::optional<LineSplitter::Item> LineSplitter::rest() {
  scanned_ = end_;
  if (discarding_) {
    discard(end_);
    return discarded();
  }
  const size_t begin = std::exchange(begin_, end_);
  if (begin == end_) return {};
  return item(begin, end_);
}
