// Confining a runner: what every runner gives up before it sees any code, whether it execs its interpreter
// (jail/init/runner.cc) or is a copy of a zygote's (jail/zygote/fork.cc). Each step returns 0 or a positive errno.
#pragma once
#include <cerrno>

#include "jail/plan.h"

namespace jail::init {

extern const Plan* plan;   // mapped read-only from kPlanFd
extern InitReport report;  // filled as the steps go by

// Sends {step, error} on kControlFd and ends the process.
[[noreturn]] void give_up(Step step, int error);

// Turns a system call's -1 into its errno.
inline int outcome_of(long result) { return result < 0 ? errno : 0; }

// What no process of this namespace is to gain any more; what it holds stays.
int drop_bounding_set();
// As a program finds them that nobody told anything.
void use_default_signals();
// A runner that execs next: descriptors above the guest socket go with that. Ends the process when a step fails.
void confine_exec();
// A runner that is a copy of a running interpreter: the same, with its descriptors closed at once.
void confine_fork();
// The zygote itself: keeps what mapping the ids of its children needs, in its own user namespace, and nothing else.
void prepare_zygote();

// landlock.cc: the second wall around files. Returns 0 and sets report.landlock_abi to 0 when the kernel has
// none and the plan does not require it.
int detect_landlock();
int restrict_files();

}  // namespace jail::init
