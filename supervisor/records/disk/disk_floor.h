// DiskFloor: watches the free space and the free inodes of the disk of the state folder while programs run. Below a
// floor, the jail that has taken most of the disk is ended (outcome `disk`), one after another, until there is space
// again. The floor is 2 % of the disk, at most 256 MiB, and 2 % of its inodes, at most 10,000. A jail that has taken
// less than 1 MiB and 1,000 inodes is left alone. Source: statvfs(2), on the disk's thread, because it may wait for the
// disk: each 20 ms near the floor, and each second far from it; jail/usage/disk_users.h. Used by: part.cc. The
// log has a line for each ended jail.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "jail/usage/disk_users.h"
#include "supervisor/base/loop.h"
#include "supervisor/base/worker_thread.h"

// What statvfs(2) says of a file system. A file system without a number of inodes has 0 of 0.
struct DiskSpace {
  uint64_t bytes = 0, free_bytes = 0;
  uint64_t inodes = 0, free_inodes = 0;

  uint64_t floor_bytes() const;
  uint64_t floor_inodes() const;
  bool is_below_floor() const;
  // The time in which no program can use up the space above the floor; at least 20 ms and at most a second.
  std::chrono::milliseconds next_check() const;
};

class DiskFloor {
 public:
  // `folder`: the state folder. All references must outlive the object.
  DiskFloor(Loop& loop, WorkerThread& disk, jail::DiskUsers& users, std::string folder);
  ~DiskFloor();
  DiskFloor(const DiskFloor&) = delete;

  // Ends the jails that have taken a part of the disk, or all jails of programs, and returns when they are gone, or
  // after two seconds.
  enum class Which { writers, all };
  Task<> end_jails(Which which);

 private:
  void begin();
  Task<> watch();
  Task<std::optional<DiskSpace>> inspect();
  Task<> relieve(DiskSpace space);
  Task<> end(std::vector<uint64_t> numbers, std::string why);

  Loop& loop_;
  WorkerThread& disk_;
  jail::DiskUsers& users_;
  const std::string folder_;
  bool is_watching_ = false;
  bool is_low_ = false;  // the log says so already
  Scope tasks_;          // last: cancelled first
};
