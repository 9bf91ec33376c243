// The steps of jail-init: each returns 0 or a positive errno, in the order main.cc's table gives.
// No exceptions, no threads, no allocation that is needed after the interpreter runs.
#pragma once
#include "jail/init/confine.h"

namespace jail::init {

extern int runner_pid;  // in the jail's own pid namespace

// build.cc
void take(Step step, int (*run)());  // gives up, or reports how long it took
int read_plan();
// Everything from a plan that was read to the end of the jail.
[[noreturn]] void build();
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
int mount_template();  // zygote: where its own jails find it
int mount_whole_proc();
// loopback.cc: `lo` up by rtnetlink, nothing else in the network namespace
int raise_loopback();
// runner.cc
int fork_runner();
// reap.cc
int lock_init();
[[noreturn]] void reap_until_runner_ends();

uint64_t now_us();

}  // namespace jail::init
