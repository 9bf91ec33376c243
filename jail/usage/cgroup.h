// Cgroup and CgroupTree: control groups, version 2. Each execution has one leaf; its jail is created in that leaf
// (CLONE_INTO_CGROUP).
// Tree: <delegated>/supervisor (the daemon and its jailer), <delegated>/jails/<leaf>.
// Source: cgroup-v2.rst; systemd's CGROUP_DELEGATION.md. The limits come from policies/limits.h. Used by: jail/jail.cc,
// jail/execution/meter.cc, jail/execution/session.cc; supervisor/main.cc makes the tree.
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

// Cgroup: one leaf directory. remove() deletes the directory; it must be empty of processes by then.
class Cgroup {
 public:
  Cgroup() = default;
  Cgroup(Fd parent, Fd directory, std::string name)
      : parent_(std::move(parent)), directory_(std::move(directory)), name_(std::move(name)) {}
  explicit operator bool() const { return static_cast<bool>(directory_); }
  int directory() const { return directory_.get(); }
  const std::string& name() const { return name_; }

  // Writes the limits that differ from those set before. Errors: internal, "write memory.max: ...".
  Result<> set(const CgroupLimits& limits);
  Result<CgroupUsage> usage() const;
  // Bytes that are charged to the leaf now (memory.current); 0 when the file cannot be read.
  uint64_t memory_bytes() const;
  // The leaf's share of the CPU when processors are short (cpu.weight): 1 to 10000, default 100.
  Result<> set_weight(unsigned weight);
  // CPU time so far, in microseconds; 0 when it cannot be read.
  uint64_t cpu_us() const;
  // Moves a process into the leaf; its later charges count here. Errors: unavailable when the process is gone.
  Result<> take_process(int pid);
  // Stops every process in the leaf soon, and every process that enters it; a kill still ends them (cgroup.freeze,
  // Linux 5.2).
  Result<> freeze();
  Result<> thaw();
  // Sends SIGKILL to every process in the leaf, frozen or not (cgroup.kill, Linux 5.14).
  Result<> kill();
  // Processes and threads in the leaf now; 0 when the file cannot be read.
  uint32_t tasks() const;
  size_t processes() const;  // without their threads
  bool populated() const;
  // Errors: exhausted while processes are in the leaf (EBUSY): wait for the jail's pidfd, then try again.
  Result<> remove();

 private:
  Fd parent_, directory_;
  std::string name_;
  CgroupLimits set_;
};

// CgroupTree: the delegated subtree. Made once, before the daemon gives its privileges up.
class CgroupTree {
 public:
  // Finds this process's cgroup, moves the process into `supervisor`, and enables memory, pids and cpu below. Kills and
  // removes leaves that a crashed daemon left. If `owner` is given, the subtree then belongs to that user and group.
  // Errors: unavailable, naming the missing controller or file, with a remedy.
  struct Owner {
    unsigned uid, gid;
  };
  static Result<CgroupTree> adopt(std::optional<Owner> owner);

  Result<Cgroup> make_leaf(const std::string& name);
  const std::string& path() const { return path_; }
  int jails() const { return jails_.get(); }  // directory that holds the leaves

 private:
  std::string path_;  // below /sys/fs/cgroup
  Fd jails_;
};

}  // namespace jail
