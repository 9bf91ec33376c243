// FileCounters: children of the jailer that count the files of jails (file_count.h). Each counts for one order, sends
// the answer to the daemon itself, and ends. So a jail with many descriptors delays no order about another jail.
// Used by: jail/jailer/jailer.cc.
#pragma once
#include <array>
#include <cstdint>

#include "supervisor/base/fd.h"

namespace jail {

class FileCounters {
 public:
  static constexpr size_t kMax = 8;  // children at a time

  // `init_pid`: of a living jail with a workspace. The child answers on `socket` with `token`. Returns 0, EAGAIN while
  // kMax children count, or the errno of clone(2).
  int start(int init_pid, int socket, uint64_t token);

 private:
  std::array<Fd, kMax> children_;  // pidfds
};

}  // namespace jail
