// count_held_files(): the files without a name that the processes of a jail hold, by descriptor or by mapping, and the
// bytes that these processes have written. No name shows this file (O_TMPFILE, or unlinked while it is open), and its
// space is free only when the last descriptor and the last mapping are gone.
// Source: proc(5): /proc/PID/task/TID/{children,fd}, maps, map_files and io. Used by: jail/jailer/file_counters.cc, in
// a child of the jailer, because a jail with many processes and descriptors takes long to read. Not found are files
// whose only descriptor is in a message between two sockets (unix(7), SCM_RIGHTS).
#pragma once
#include <cstdint>
#include <optional>

#include "jail/held_files.h"

namespace jail {

// The device of the mount at /workspace of the jail: st_dev of stat(2), of the overlay for a staged workspace.
// Empty: the jail is gone, or may not be looked at.
std::optional<uint64_t> workspace_device(int init_pid);

// Counts for `init_pid` and its descendants, on the file system `device`. Reads at most 1,024 processes, 4,096 threads,
// 200,000 descriptors and as many mappings, for at most two seconds of processor time. The jail may change meanwhile.
HeldFiles count_held_files(int init_pid, uint64_t device);

}  // namespace jail
