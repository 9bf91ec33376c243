// LineSplitter: newline-delimited messages cut out of a byte stream, without copying them.
// Source of bytes: a connection's socket. Bound: no line longer than max_line is ever kept; a longer one is looked
// through for its id as it passes, and reported when it has ended.
#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "supervisor/base/envelope_scan.h"

namespace mcp {

class LineSplitter {
 public:
  explicit LineSplitter(size_t max_line) : max_line_(max_line) {}

  enum class Kind { line, too_long };
  struct Item {
    Kind kind;
    std::string_view text;  // without "\n" or "\r\n"; valid until the next space(); empty for too_long
    std::optional<EnvelopeScan::Found> found;  // of one that is too long, where it is certain
  };

  // Room for the next read, at least one byte. Invalidates earlier items.
  std::span<char> space();
  // `bytes` of space() were filled.
  void commit(size_t bytes) { end_ += bytes; }
  // The next whole line that is not blank, or nothing until more bytes come.
  std::optional<Item> next();
  // Whether bytes have come that next() has not looked at.
  bool has_unseen() const { return scanned_ < end_; }
  // The stream has ended: what came after the last newline, if anything.
  std::optional<Item> rest();
  // Keeps the bytes of a large item, which was the newest, beyond the next space(); nothing for a small one.
  std::shared_ptr<const void> keep(const Item& item);
  // The bytes that no item was made of yet.
  std::string_view held() const { return {buffer_.get() + begin_, end_ - begin_}; }
  // Whether the rest of a line that was too long is still to come.
  bool is_discarding() const { return discarding_; }
  // Bytes this splitter holds in memory.
  size_t capacity() const { return capacity_; }

 private:
  void make_room();
  std::optional<Item> item(size_t begin, size_t end) const;
  void discard(size_t end);
  Item discarded();

  size_t max_line_;
  std::shared_ptr<char[]> buffer_;  // shared with whoever keeps an item
  size_t capacity_ = 0;
  size_t begin_ = 0;    // of the line being collected
  size_t scanned_ = 0;  // no newline before this
  size_t end_ = 0;
  bool discarding_ = false;  // inside a line that is too long
  EnvelopeScan scan_;        // of that line
};

}  // namespace mcp
