// FolderReader: the entries of a folder without "." and "..", in the order of the file system. The end of the entries
// is a Result: a folder that cannot be read to its end is an error, not a shorter folder. readdir(3) returns a null
// pointer for both; only this reader calls it (tests/lint/banned_calls.py). Errors: those of fail_path() in path.h,
// with the reader's `name` in the text and the errno in `err`. Used by: all code that lists a folder, except programs
// of jails.
#pragma once
#include <dirent.h>

#include <memory>
#include <string>
#include <vector>

#include "supervisor/base/fd.h"
#include "supervisor/base/result.h"

class FolderReader {
 public:
  FolderReader() = default;  // reads no folder
  // Reads the open folder `folder` and closes it in the end. `name`: for messages, bytes as they are on disk.
  static Result<FolderReader> of(Fd folder, std::string name);
  // Opens the folder behind a descriptor again, which may be O_PATH.
  static Result<FolderReader> at(int folder, std::string name);
  // Opens a trusted path; links are followed.
  static Result<FolderReader> open(const std::string& path);

  explicit operator bool() const { return stream_ != nullptr; }
  int fd() const { return ::dirfd(stream_.get()); }
  // The next entry, valid until the next call; nullptr at the end of the folder. After an error the entries are
  // incomplete.
  Result<const dirent*> next();

 private:
  struct Close {
    void operator()(DIR* stream) const { ::closedir(stream); }
  };
  std::unique_ptr<DIR, Close> stream_;
  std::string name_;
};

// Whether the path is a folder, or cannot be looked at, so that reading it reports the reason. False for a path without
// a file, and for a file of another kind.
bool may_be_folder(const std::string& path);

// Whether a folder has an entry.
Result<bool> has_entries(Result<FolderReader> folder);

// All names of a folder, sorted by bytes. Errors: those of the reader; exhausted: more than `max` names.
constexpr size_t kMaxNames = 1'000'000;
Result<std::vector<std::string>> read_names(Result<FolderReader> folder, size_t max = kMaxNames);
