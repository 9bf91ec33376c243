// Isolation: which protections of a jail a policy requires, and which it only prefers.
// Source: "isolation" of a policy. Applied by jail/ when it builds a jail. No errors.
#pragma once

namespace policies {

// Need: a protection that a machine may lack. required: without it no execution runs. preferred: an execution runs, and
// the receipt names the substitute.
enum class Need { required, preferred };

struct Isolation {
  Need cgroups = Need::required;   // cgroup v2 leaf with memory, pids and cpu; else rlimits and watchdogs
  Need identity = Need::required;  // init and code under separate host ids; else the daemon's id
  Need landlock = Need::required;  // else the mount namespace alone
  Need overlay = Need::required;   // each jail has its own root file system instance; else read-only bind mounts
  Need idmap = Need::required;     // idmapped workspace; else files have the id of the jail
};

}  // namespace policies
