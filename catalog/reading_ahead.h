// ReadingAhead: reads the definitions of many files, in any order and with several threads, and returns them in the
// order of the files. Source: a folder's listing (folder.h). Used by: CatalogBuilder. A call of take() for a file that
// no thread has begun reads files, too: without threads, take() does all the reading.
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
  ReadingAhead(std::string folder, std::vector<CatalogFile> files, unsigned threads);
  // Waits for the files that are being read; the others are not read.
  ~ReadingAhead();
  ReadingAhead(const ReadingAhead&) = delete;

  // The definitions of one file. Each file may be taken once. Errors: the file cannot be read, or is no document of
  // definitions.
  Result<Reading> take(size_t file);

 private:
  // Reads the next file that no thread has begun. `lock` is held before and after, not during the reading.
  void read_next(std::unique_lock<std::mutex>& lock);
  const std::string folder_;
  const std::vector<CatalogFile> files_;
  std::mutex mutex_;
  std::condition_variable read_;
  size_t next_ = 0;                                       // by mutex_: the first file that no thread has begun
  bool ending_ = false;                                   // by mutex_
  std::vector<std::optional<Result<Reading>>> readings_;  // by mutex_: of each file, until it is taken
  std::vector<std::thread> threads_;
};

}  // namespace catalog
