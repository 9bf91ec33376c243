// The system unit that a peer's process is in. Source: /proc/PID/cgroup, as sd_pid_get_unit(3) reads it.
#pragma once
#include <sys/types.h>

#include <optional>
#include <string>

// Empty: it is in none. Nothing: it cannot be told, as the process is gone, belongs to another user by now, or cannot
// be seen. SO_PEERCRED names who connected, and a pid may be given out anew: so only a process of the same user counts,
// who could act in that unit anyway.
std::optional<std::string> unit_of(pid_t pid, uid_t uid);
