// ReadingAhead: the definitions of many files, read in any order by several threads and handed out in the order of the
// files. Source: a folder's listing (folder.h). Used by: CatalogBuilder. Who takes a file that nobody has read yet
// reads, too: without threads all is read by whoever takes.
#pragma once
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "catalog/folder.h"
#include "catalog/reader.h"
#include "supervisor/base/result.h"

namespace catalog {

class ReadingAhead {
 public:
  ReadingAhead(std::string folder, std::vector<File> files, unsigned threads);
  // Waits for the files that are being read; the others are left.
  ~ReadingAhead();
  ReadingAhead(const ReadingAhead&) = delete;

  // What a file says. Each may be taken once. Errors: it cannot be read, or is no document of definitions.
  Result<Reading> take(size_t file);

 private:
  // Reads the next file that nobody has begun. `lock` is held before and after, not meanwhile.
  void read_next(std::unique_lock<std::mutex>& lock);
  const std::string folder_;
  const std::vector<File> files_;
  std::mutex mutex_;
  std::condition_variable read_;
  size_t next_ = 0;                                       // by mutex_: the first file that nobody has begun
  bool ending_ = false;                                   // by mutex_
  std::vector<std::optional<Result<Reading>>> readings_;  // by mutex_: of each file, until it is taken
  std::vector<std::thread> threads_;
};

}  // namespace catalog
