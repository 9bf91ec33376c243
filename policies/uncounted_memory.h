// Uncounted memory: memory that belongs to no process, so that only a cgroup counts it. Where there is no cgroup, calls
// that make it are refused, whatever a profile allows.
// Left are files of the jail's temporary folders, which have a size limit, what /proc tells of each process and how
// many sockets there are (jail/process_tree.h).
#pragma once
#include <linux/filter.h>

#include <vector>

namespace policies {

// Instructions that stand before a compiled profile:
// memfd_create(2), shmget(2) and semget(2) answer ENOSYS, as on a kernel without them, so that programs fall back to
// files. mmap(2) of shared memory without a file answers EPERM: its pages stay when a process gives them up
// (MADV_DONTNEED) or unmaps all but one of them, and /proc does not show them then. setsockopt(2) of a socket's buffer
// sizes answers 0 and does nothing, so that each socket holds at most what the kernel gives it by default.
std::vector<sock_filter> refuse_uncounted_memory();

}  // namespace policies
