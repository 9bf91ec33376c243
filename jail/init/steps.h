// The steps of jail-init, which build a jail from inside. Each returns 0 or a positive errno. Their order is in the
// tables of build.cc.
// Source: the plan (jail/plan.h). Used by: jail/init/, jail/zygote/fork.cc.
// No exceptions, no threads, and no
// allocation after the interpreter runs.
#pragma once
#include "jail/init/confine.h"

namespace jail::init {

extern int runner_pid;  // in the jail's own pid namespace

// main.cc: all that init does, in this order
[[noreturn]] void run();
// take.cc
void take(Step step, int (*run)());  // runs one step: ends the process if it fails, else reports how long it took
int read_plan();
// build.cc
// Builds the jail from the plan that was read, then waits until its runner ends.
[[noreturn]] void build();
int make_cgroup_namespace();
int forbid_namespaces();
// root.cc: the file system
int make_mounts_private();
int mount_root();
int mount_usr();
int bind_devices();
int mount_temporary_files();
int set_hostname();
int pivot();
int mount_template();  // zygote: shows the template at /run, where the zygote's jails find it
// Mounts a detached copy of one mount at `target`, with `attributes` in addition to its own. Mounts below `source` are
// not shown.
int bind_mount(const char* source, const char* target, uint64_t attributes);
// proc.cc: /proc. A jail's is a whole one, in which /proc/sys can be written, until hide_kernel(); that of a zygote's
// home stays so.
int mount_proc();
int hide_kernel();
int mount_whole_proc();
// loopback.cc: raises `lo` by ioctl(2); the network namespace has no other interface. For the self-test, gives the
// daemon a socket that lists what the namespace holds.
int raise_loopback();
// runner.cc
int fork_runner();
// reap.cc
int lock_init();
[[noreturn]] void reap_until_runner_ends();

uint64_t now_us();

}  // namespace jail::init
