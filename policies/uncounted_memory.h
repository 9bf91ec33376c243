// Uncounted memory: memory that belongs to no process, so that only a cgroup counts it. Where there is no cgroup, calls
// that create this memory are refused, whether or not a profile allows them.
// Other memory is bounded without a cgroup: files of the jail's temporary folders by a size limit, the memory of each
// process and the number of sockets by what /proc shows (jail/usage/process_tree.h).
#pragma once
#include <linux/filter.h>

#include <vector>

namespace policies {

// Instructions that stand before a compiled profile: memfd_create(2), shmget(2) and semget(2) answer ENOSYS, as on a
// kernel without them, so that programs fall back to files. mmap(2) of shared memory without a file answers EPERM: its
// pages stay when a process gives them up (MADV_DONTNEED) or unmaps all pages but one, and then /proc does not show
// the pages. setsockopt(2) of a socket's buffer sizes answers 0 and does nothing, so that each socket holds at most the
// kernel's default.
std::vector<sock_filter> refuse_uncounted_memory();

}  // namespace policies
