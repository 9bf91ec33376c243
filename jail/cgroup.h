// Cgroups (version 2): one leaf per execution, in which its jail is born (CLONE_INTO_CGROUP).
// Tree: <delegated>/supervisor (the daemon and its jailer), <delegated>/jails/<leaf>.
// Source: cgroup-v2.rst; systemd's CGROUP_DELEGATION.md. Limits come from policies/limits.h.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "supervisor/base/fd.h"
#include "supervisor/base/result.h"

namespace jail {

struct CgroupLimits {
  uint64_t memory_bytes = 0;  // memory.max; memory.swap.max is always 0, memory.oom.group always 1
  uint32_t tasks = 0;         // pids.max; threads count
  double cpus = 1;            // cpu.max: 1.5 is 150000 of every 100000 us
};

struct CgroupUsage {
  uint64_t cpu_us = 0;             // cpu.stat usage_usec
  uint64_t memory_peak_bytes = 0;  // memory.peak (Linux 5.19); 0 where missing
  uint32_t tasks_peak = 0;         // pids.peak (Linux 6.1 lacks it); 0 where missing
  uint64_t oom_kills = 0;          // memory.events oom_kill
  uint64_t tasks_refused = 0;      // pids.events max
};

// One leaf directory. Removed, with whatever still runs in it, by remove().
class Cgroup {
 public:
  Cgroup() = default;
  Cgroup(Fd parent, Fd directory, std::string name)
      : parent_(std::move(parent)), directory_(std::move(directory)), name_(std::move(name)) {}
  explicit operator bool() const { return static_cast<bool>(directory_); }
  int directory() const { return directory_.get(); }
  const std::string& name() const { return name_; }

  // Writes what differs from what was set before. Errors: internal, "write memory.max: ...".
  Result<> set(const CgroupLimits& limits);
  Result<CgroupUsage> usage() const;
  // What is charged to it now; 0 when it cannot be read.
  uint64_t memory_bytes() const;
  // The share of the CPU it gets when there is not enough for all: 1 to 10000, 100 unless set (cpu.weight).
  Result<> set_weight(unsigned weight);
  // CPU time so far, microseconds; 0 when it cannot be read.
  uint64_t cpu_us() const;
  // Moves a process here, with what it is charged from now on. Errors: unavailable when it is gone.
  Result<> take_process(int pid);
  // Stops everything in it, soon, and what is put into it; a kill still ends it (cgroup.freeze, Linux 5.2).
  Result<> freeze();
  Result<> thaw();
  // SIGKILL to everything in it, stopped or not (cgroup.kill, Linux 5.14).
  Result<> kill();
  // Processes and threads in it now; 0 when that cannot be read.
  uint32_t tasks() const;
  size_t processes() const;  // without their threads
  bool populated() const;
  // Errors: exhausted while it is populated (EBUSY): wait for the jail's pidfd, then try again.
  Result<> remove();

 private:
  Fd parent_, directory_;
  std::string name_;
  CgroupLimits set_;
};

// The delegated subtree. Made once, before privileges are given up.
class CgroupTree {
 public:
  // Finds the cgroup this process is in, moves it into `supervisor`, enables memory, pids and cpu below, kills and
  // removes leaves that a crashed daemon left. When `owner` is given, the subtree is given to that user and group.
  // Errors: unavailable, saying which controller or file is missing and the remedy.
  struct Owner {
    unsigned uid, gid;
  };
  static Result<CgroupTree> adopt(std::optional<Owner> owner);

  Result<Cgroup> make_leaf(const std::string& name);
  const std::string& path() const { return path_; }
  int jails() const { return jails_.get(); }  // the folder of the leaves

 private:
  std::string path_;  // below /sys/fs/cgroup
  Fd jails_;
};

}  // namespace jail
