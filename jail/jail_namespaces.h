// The namespaces that each jail gets when its first process is cloned. Its cgroup namespace is made later, from inside
// the leaf.
// Used by: jail/spawn.cc, jail/init/fixed_filter.cc.
#pragma once
#include <linux/sched.h>

namespace jail {

constexpr unsigned long kJailNamespaces =
    CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS;

}  // namespace jail
