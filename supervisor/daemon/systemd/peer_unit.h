// Peer unit: the system unit that a peer's process belongs to. Source: /proc/PID/cgroup, as sd_pid_get_unit(3) reads
// it. Used by: supervisor/daemon/client_doors.cc.
#pragma once
#include <sys/types.h>

#include <optional>
#include <string>

// An empty string: the process is in no unit. nullopt: the unit is unknown, because the process has ended, belongs to
// another user, or cannot be seen. `pid` and `uid` come from SO_PEERCRED. The kernel may give the pid to a new process,
// so the process must still run as `uid`: that user could act in the unit anyway.
std::optional<std::string> unit_of(pid_t pid, uid_t uid);
