// LineSplitter: splits a byte stream into newline-delimited messages, without copying them.
// Source of bytes: the socket of a connection, or a pipe. Used by: all code that reads messages. Bound: a line longer
// than max_line is never stored. The splitter scans the bytes of a longer line for its id, drops them, and reports the
// line when it has ended.
#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "supervisor/base/json/envelope_scan.h"

class LineSplitter {
 public:
  explicit LineSplitter(size_t max_line) : max_line_(max_line) {}

  enum class Kind { line, too_long };
  struct Item {
    Kind kind;
    std::string_view text;  // without "\n" or "\r\n"; valid until the next space(); empty for too_long
    std::optional<EnvelopeScan::EnvelopeFields>
        found;  // for too_long: the message's id and kind, where they are certain
  };

  // Room for the next read, at least one byte. Invalidates earlier items.
  std::span<char> space();
  // The caller has filled the first `bytes` of space().
  void commit(size_t bytes) { end_ += bytes; }
  // The next whole line, blank lines skipped; nullopt until more bytes come.
  std::optional<Item> next();
  // Whether bytes have come that next() has not looked at.
  bool has_unseen() const { return scanned_ < end_; }
  // Call at the end of the stream: the line after the last newline; nullopt when no bytes came after it.
  std::optional<Item> rest();
  // Keeps the bytes of `item`, the newest one, valid beyond the next space(). nullptr for an item of at most 64 KiB:
  // copy its text instead.
  std::shared_ptr<const char> keep(const Item& item);
  // The bytes that are in no item yet.
  std::string_view buffered() const { return {buffer_.get() + begin_, end_ - begin_}; }
  // Whether the rest of a line that was too long is still to come.
  bool is_discarding() const { return discarding_; }
  // The longest line that is stored, in bytes.
  size_t max_line() const { return max_line_; }
  // Bytes this splitter holds in memory.
  size_t capacity() const { return capacity_; }

 private:
  void make_room();
  std::optional<Item> item(size_t begin, size_t end) const;
  void discard(size_t end);
  Item discarded();

  size_t max_line_;
  std::shared_ptr<char[]> buffer_;  // shared with the callers of keep()
  size_t capacity_ = 0;
  size_t begin_ = 0;    // of the current line
  size_t scanned_ = 0;  // no newline before this
  size_t end_ = 0;
  bool discarding_ = false;  // inside a line longer than max_line_
  EnvelopeScan scan_;        // reads that line
};
