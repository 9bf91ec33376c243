// Spool: acknowledged records that are not in SQLite yet, in one append-only file beside it. An answer waits for one
// write(2) of some hundred bytes instead of a transaction on another thread: 5 us instead of 170.
// A write survives the end of this process at any moment, and not a power failure, as `buffered` promises (writer.h).
// Used on the loop: a write to the page cache does not wait for the disk, save where the kernel holds back one who
// writes far faster than this.
// Errors: what the file system says; then nothing was appended.
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "supervisor/base/fd.h"
#include "supervisor/base/result.h"

namespace journal {

constexpr size_t kSpoolBytes = 1 << 20;  // some 2,500 executions; a start reads them within a tenth of a second

class Spool {
 public:
  // What an earlier life left is read by each_line(); append() comes after that.
  static Result<Spool> open(const std::string& path);

  // Whole lines only, oldest first; without their newlines.
  Result<> each_line(const std::function<Result<>(std::string_view)>& use);
  bool has_room(size_t bytes) const { return size_ + bytes <= kSpoolBytes; }
  // All or nothing.
  Result<> append(std::string_view lines);
  // All that it held is in SQLite.
  void clear();
  // The same, off and on: to empty a file costs more than to append to it, and what is read again is not applied again
  // (record.h).
  void clear_if_long() {
    if (size_ > kSpoolBytes / 16) clear();
  }

 private:
  Spool(Fd file, size_t size) : file_(std::move(file)), size_(size) {}
  Fd file_;
  size_t size_;
};

}  // namespace journal
