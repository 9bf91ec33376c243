// Order and JailerAnswer: what the daemon asks of the jailer and of zygotes, and their answers. Both are messages of
// fixed size on a SOCK_SEQPACKET pair, with descriptors (SCM_RIGHTS). They hold no paths, no strings, and no bytes that
// an agent wrote.
// Source: jail/jailer_client/jailer_client.cc. Used by: jail/jailer/jailer.cc,
// jail/zygote/fork.cc.
#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "jail/init_report.h"
#include "jail/plan_parts.h"

namespace jail {

enum class OrderType : uint32_t {
  build = 1,        // descriptors: plan, guest, control, stdout, stderr [, cgroup leaf]; answer: a pidfd
  attach = 2,       // descriptors: pidfd of a jail's init, workspace directory [, staging folder]
  end = 3,          // descriptors: pidfd; SIGKILL to init, which ends the jail. No answer.
  probe_idmap = 4,  // descriptors: directory; can its file system be mounted with mapped ids?
  fork = 5,  // to a zygote. descriptors: plan, guest, control, stdout, stderr, a pipe's end: the child waits for a
             // byte on it, which comes once the child is in its cgroup; answer: a pidfd
  limit_project =
      6,  // descriptors: a directory that is open for reading; sets the limits of one project on its file system
  lower_priority = 7,  // descriptors: pidfd of a jail's init [, of processes of its code]; jails without cgroups.
                       // No answer.
  count_files = 8,  // descriptors: pidfd of a jail's init; the files without a name that the jail holds (HeldFiles in
                    // jail/held_files.h), counted by a child of the jailer
};
constexpr int kMaxOrderFds = 6;   // but for lower_priority
constexpr size_t kMaxNamed = 64;  // processes in an order to lower a priority

// The port of a jail's listener (jail/jailer/listener.h), on 127.0.0.1 of the jail.
constexpr uint16_t kEgressPort = 3128;

struct Order {
  OrderType type;
  uint32_t has_cgroup;
  uint64_t token;  // is repeated in the answer
  Identity identity;
  uint32_t init_id;    // build: host id of init (uid and gid)
  uint32_t runner_id;  // build, attach: host id of the runner
  uint32_t wanted;     // fork: an execution waits for it
  uint32_t crowded;    // fork: executions keep every processor busy, so nothing is done ahead
  uint32_t owner_uid;  // attach: the owner of the workspace on disk
  uint32_t owner_gid;
  uint32_t map_ids;    // attach: mount the workspace with owner -> runner mapped
  uint32_t read_only;  // attach
  uint32_t staged;     // attach: the workspace below an overlay whose changes go into the staging folder
  uint32_t listens;    // attach: make the jail's listener (jail/jailer/listener.h); it comes with the answer
  uint32_t project;    // limit_project: one of the daemon's projects (supervisor/base/project_quota.h)
  uint64_t bytes, inodes;
  uint32_t nice;          // lower_priority: of every process with the host id of the jail's code; 0: unchanged
  uint32_t session_nice;  // lower_priority: of the autogroups of the named processes' sessions (sched(7))
};
static_assert(std::is_trivially_copyable_v<Order> && std::is_standard_layout_v<Order>);

struct JailerAnswer {
  uint64_t token;
  int32_t error;  // 0 or a positive errno
  Step step;      // the step that failed
  uint16_t reserved;
  uint64_t held_bytes = 0, held_files = 0;  // count_files: of files without a name
  uint64_t written_bytes = 0;               // count_files: by the processes of the jail, since their begin
  uint32_t is_partial = 0;                  // count_files: the jail holds more than can be counted
  uint32_t is_denied = 0;                   // count_files: the kernel shows the jailer only a part
};
static_assert(std::is_trivially_copyable_v<JailerAnswer> && std::is_standard_layout_v<JailerAnswer>);

}  // namespace jail
