// The steps of jail-init: each returns 0 or a positive errno, in the order main.cc's table gives.
// No exceptions, no threads, no allocation that is needed after the interpreter runs.
#pragma once
#include <cerrno>

#include "jail/plan.h"

namespace jail::init {

extern const Plan* plan;   // mapped read-only from kPlanFd
extern InitReport report;  // filled as the steps go by
extern int runner_pid;     // in the jail's own pid namespace

// Turns a system call's -1 into its errno.
inline int outcome_of(long result) { return result < 0 ? errno : 0; }

int make_cgroup_namespace();
int forbid_namespaces();
// root.cc: the file system
int make_mounts_private();
int mount_root();
int mount_usr();
int bind_devices();
int mount_temporary_files();
int mount_proc();
int set_hostname();
int pivot();
// loopback.cc: `lo` up by rtnetlink, nothing else in the network namespace
int raise_loopback();
// runner.cc
int fork_runner();
// landlock.cc: the second wall around files. Returns 0 and sets report.landlock_abi to 0 when the kernel has
// none and the plan does not require it.
int detect_landlock();
int restrict_files();
// reap.cc
int lock_init();
[[noreturn]] void reap_until_runner_ends();

// Sends {step, error} on kControlFd and ends the process.
[[noreturn]] void give_up(Step step, int error);
uint64_t now_us();

}  // namespace jail::init
