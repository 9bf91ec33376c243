// ProcessFacts: what the kernel reports about a process, also by its pidfd: its number, whether it is alive, its
// parent, its ids. The kernel reuses numbers for other processes; comments at the callers say why their readings belong
// together.
// Source: proc(5) ("Pid" in the fdinfo of a pidfd; /proc/PID/status), linux/pidfd.h, pidfd_send_signal(2). Used by:
// jail/jailer/living_jails.cc, jail/jailer/order_check.cc, jail/jail.cc.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace jail {

// The number of the pidfd's process in our pid namespace. 0: the process is gone, the descriptor is not a pidfd, or the
// process has no number here.
int pid_of(int pidfd);
// True if the process has not been reaped. False also for a descriptor that is neither a pidfd nor a /proc/PID folder.
bool is_alive(int pidfd);

struct ProcessFacts {
  int parent = 0;                  // the parent's number; 0: no parent, or not in our pid namespace
  int innermost_pid = 0;           // the process's number in its own pid namespace
  std::array<uint32_t, 4> uids{};  // real, effective, saved, file system: as host ids
};
// Parses the text of /proc/PID/status. Empty when a line is missing or differs from proc(5).
std::optional<ProcessFacts> parse_status(std::string_view text);
// Empty when the process does not exist or is hidden from us.
std::optional<ProcessFacts> read_process(int pid);

}  // namespace jail
