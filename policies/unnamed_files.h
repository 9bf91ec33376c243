// Unnamed files: O_TMPFILE makes a file that no name shows, so that only the kernel's project quotas, or a look at the
// descriptors of all processes, count it. Where the workspaces' file system has no project quotas, open(2) and
// openat(2) with O_TMPFILE answer EOPNOTSUPP, as on many file systems: programs then make a file and unlink it.
// The filter sees no path, so it refuses O_TMPFILE also in a jail's /tmp. openat2(2) is refused by the profiles.
#pragma once
#include <linux/filter.h>

#include <vector>

namespace policies {

// Instructions that stand before a compiled profile.
std::vector<sock_filter> refuse_unnamed_files();

}  // namespace policies
