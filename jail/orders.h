// Order and JailerAnswer: what the daemon asks of the jailer and of zygotes, and their answers. Both are messages of
// fixed size on a SOCK_SEQPACKET pair, with descriptors (SCM_RIGHTS). They hold no paths, no strings, and no bytes that
// an agent wrote.
// Source: jail/jailer_client.cc. Used by: jail/jailer.cc, jail/zygote/fork.cc.
#pragma once
#include <cstdint>
#include <type_traits>

#include "jail/plan.h"

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
};
constexpr int kMaxOrderFds = 6;

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
  uint32_t listens;    // attach: make the jail's listener (jail/listener.h); it comes with the answer
  uint32_t project;    // limit_project: one of the daemon's projects (supervisor/base/project_quota.h)
  uint64_t bytes, inodes;
};
static_assert(std::is_trivially_copyable_v<Order> && std::is_standard_layout_v<Order>);

struct JailerAnswer {
  uint64_t token;
  int32_t error;  // 0 or a positive errno
  Step step;      // the step that failed
  uint16_t reserved;
};
static_assert(std::is_trivially_copyable_v<JailerAnswer> && std::is_standard_layout_v<JailerAnswer>);

}  // namespace jail
