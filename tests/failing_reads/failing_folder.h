// FailingFolder: until the end of the scope, reading a folder (or the holes of a file) whose path ends with `end` fails
// with EIO after some entries: failing_reads.cc.
#pragma once
#include <cstdlib>
#include <string>

class FailingFolder {
 public:
  explicit FailingFolder(const std::string& end, int after = 0) {
    ::setenv("FAIL_AFTER", std::to_string(after).c_str(), 1);
    ::setenv("FAIL_IN", end.c_str(), 1);
  }
  ~FailingFolder() { ::unsetenv("FAIL_IN"); }
  FailingFolder(const FailingFolder&) = delete;
};

// FailingFile: until the end of the scope, bytes from `first_bad` on of a file whose path ends with `end` cannot be
// read: EIO. With "inotify": no descriptor of inotify(7) can be read.
class FailingFile {
 public:
  explicit FailingFile(const std::string& end, size_t first_bad = 0) {
    ::setenv("FAIL_AT", std::to_string(first_bad).c_str(), 1);
    ::setenv("FAIL_READ", end.c_str(), 1);
  }
  ~FailingFile() { ::unsetenv("FAIL_READ"); }
  FailingFile(const FailingFile&) = delete;
};
