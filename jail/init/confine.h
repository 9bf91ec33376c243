// Confinement of a runner: the rights that every runner gives up before it sees any code. Two kinds of runner use it:
// one that execs its interpreter (jail/init/runner.cc), and one that is a copy of a zygote (jail/zygote/fork.cc). Each
// step returns 0 or a positive errno.
#pragma once
#include <cerrno>

#include "jail/init_report.h"
#include "jail/plan.h"

namespace jail::init {

extern const Plan* plan;   // mapped read-only from kPlanFd
extern InitReport report;  // filled step by step

// Sends {step, error} on kControlFd and ends the process.
[[noreturn]] void give_up(Step step, int error);

// Turns a system call's -1 into its errno.
inline int outcome_of(long result) { return result < 0 ? errno : 0; }

// Drops every capability from the bounding set: no process below can gain one again. Capabilities already held stay.
int drop_bounding_set();
// Confines a runner that execs next; the exec closes the descriptors above the guest socket. Ends the process when a
// step fails.
void confine_exec();
// Confines a runner that is a copy of a running interpreter: the same, but its descriptors are closed at once.
void confine_fork();
// Confines the zygote itself: it keeps only the capabilities, in its own user namespace, that map the ids of its
// children.
void prepare_zygote();

// landlock.cc: the second wall around files. detect_landlock() returns 0 and sets report.landlock_abi to 0 if the
// kernel has no Landlock and the plan does not require it.
int detect_landlock();
int restrict_files();

}  // namespace jail::init
