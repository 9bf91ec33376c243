// Spool: acknowledged records that are not in SQLite yet, in one append-only file beside the database. An answer waits
// for one write(2) of some hundred bytes instead of a transaction on another thread: 5 us instead of 170.
// A write survives the end of the process at any moment, but no power failure, as `buffered` promises (writer.h).
// Used on the loop by journal.cc: a write to the page cache does not wait for the disk, except where the kernel
// throttles a much faster writer.
// Errors: those of the file system; then no byte was appended.
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "supervisor/base/fd.h"
#include "supervisor/base/result.h"

namespace journal {

constexpr size_t kSpoolBytes = 1 << 20;  // some 2,500 executions; the next start reads them within 0.1 s

class Spool {
 public:
  // Call each_line() first, for lines of an earlier process, and append() after that.
  static Result<Spool> open(const std::string& path);

  // Calls `use` with each complete line, oldest first, without its newline.
  Result<> each_line(const std::function<Result<>(std::string_view)>& use);
  bool has_room(size_t bytes) const { return size_ + bytes <= kSpoolBytes; }
  // Appends all lines, or no byte.
  Result<> append(std::string_view lines);
  // Empties the file, when all its records are in SQLite.
  void clear();
  // Empties the file only when it is long: emptying costs more than appending, and records that are read again are not
  // applied again (record.h).
  void clear_if_long() {
    if (size_ > kSpoolBytes / 16) clear();
  }

 private:
  Spool(Fd file, size_t size) : file_(std::move(file)), size_(size) {}
  Fd file_;
  size_t size_;
};

}  // namespace journal
