// SharedValues: a memory file (memfd_create(2)) with values of a session, for the branches of a fan-out. The daemon
// makes it with its full size, which no process can change; only written pages take memory. The session's guest gets a
// descriptor and writes. seal() then ends all writing, so each branch maps the same bytes, and what a branch changes is
// its own copy (MAP_PRIVATE). The daemon never reads the file: its contents are hostile.
// Memory, with a cgroup: it counts the pages where they are first written, that is for the session. Without one, no
// process shows pages that it has unmapped: the size is at most the room that the session's limit leaves, and a session
// that keeps the descriptor is found by is_held() and ended.
// Source: supervisor/executions/runs/fan_out.cc. Used by: jail/execution/execution_talk.cc, jail/usage/process_tree.h.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <memory>

#include "supervisor/base/fd.h"
#include "supervisor/base/result.h"

namespace jail {

class SharedValues {
 public:
  // `bytes` is rounded down to whole pages. Errors: internal.
  static Result<std::shared_ptr<SharedValues>> make(uint64_t bytes);

  // From now on the bytes cannot change. May take long for a large file, and may wait for pages in use: call it beside
  // the loop, once. Errors: unavailable: a process has the file mapped writable, or has sealed it itself.
  Result<> seal();
  // Whether a process still has the writer's descriptor, a copy of it or a mapping. Call it after the writer has
  // answered, and before a reader gets the file.
  bool is_held();

  // For the guest that writes, and for those that read.
  int writer() const { return writer_.get(); }
  int file() const { return file_.get(); }
  uint64_t bytes() const { return bytes_; }
  // As in /proc/PID/smaps.
  dev_t device() const { return device_; }
  ino_t inode() const { return inode_; }

 private:
  SharedValues(Fd file, Fd writer, uint64_t bytes)
      : file_(std::move(file)), writer_(std::move(writer)), bytes_(bytes) {}
  Fd file_, writer_;  // two open file descriptions: a lease on one tells whether the other is still open
  uint64_t bytes_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace jail
