// What the kernel says of the process behind a pidfd: its number, whether it lives, its parent and its ids.
// Numbers are used again for other processes; the comments of the callers say why what they read belongs together.
// Source: proc(5) ("Pid" in the fdinfo of a pidfd; /proc/PID/status), pidfd_send_signal(2).
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace jail {

// The number of its process in our pid namespace. 0: the process is gone, the descriptor is no pidfd, or its process
// has no number here.
int pid_of(int pidfd);
// The process has not been reaped. False, too, for a descriptor that is neither a pidfd nor a /proc/PID folder.
bool is_alive(int pidfd);

struct ProcessFacts {
  int parent = 0;                  // its number; 0: none, or not in our pid namespace
  int innermost_pid = 0;           // its number in the pid namespace that it is in
  std::array<uint32_t, 4> uids{};  // real, effective, saved, file system: as host ids
};
// Reads the text of /proc/PID/status. Nothing when a line is missing or is not as proc(5) says.
std::optional<ProcessFacts> parse_status(std::string_view text);
// Nothing when there is no such process, or it is hidden from us.
std::optional<ProcessFacts> read_process(int pid);

}  // namespace jail
