// spawn_jail: clone3 into new user, mount, pid, network, IPC and UTS namespaces, and the few raw system calls until
// process 1 execs warder-jail-init. The child waits until its ids are mapped, and ends if the jailer is gone. Source:
// clone(2), user_namespaces(7). The child's calls are listed in tests/lint/child_symbols.py. Used by:
// jail/jailer/jailer.cc, jail/zygote/fork.cc.
#pragma once
#include <cstdint>

namespace jail {

struct SpawnPlan {  // prepared before clone3; no owner, no allocation
  int init;         // O_PATH or O_RDONLY descriptor of warder-jail-init
  int null;         // /dev/null, read-only: the runner's stdin
  int out, err;     // pipes
  int guest, control, plan;
  int cgroup;             // directory of the leaf, or -1: stay in the jailer's cgroup
  int go_read, go_write;  // pipe: one byte lets the child continue, EOF ends it; go_write -1: another process holds it
  void (*before_exec)();  // called as process 1, with the descriptors in place; nullptr: nothing is called
  // If not nullptr: the child uses the caller's memory until its exec, and this stack of kSharingStackBytes. The caller
  // must wait for that, see wait_for_exec(), and meanwhile change no memory that the child uses.
  void* stack;
};
constexpr unsigned long kSharingStackBytes = 64 << 10;

struct Spawned {
  int pid;    // in the caller's pid namespace
  int pidfd;  // owned by the caller; close-on-exec
};

// Returns 0 or a positive errno. On success the child waits for its byte on go_read.
int spawn_jail(const SpawnPlan& plan, Spawned& spawned);
// Waits until the last child with a `stack` has called exec or has ended.
void wait_for_exec();

}  // namespace jail
