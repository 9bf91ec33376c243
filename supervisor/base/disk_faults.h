// Disk faults: writes of this process that a disk did not take (full, over a quota, broken, read-only). Noted where
// they fail, on any thread. Whether it is the disk of the daemon's state, or only one tenant's quota, is found out by
// supervisor/state_disk.h.
#pragma once
#include <cstdint>

namespace disk_faults {

bool is_fault(int error);  // ENOSPC, EDQUOT, EIO, EROFS
void note(int error);      // that a write ended with; others than those are ignored

struct Noted {
  uint64_t count = 0;  // since the process began
  int last = 0;        // errno
};
Noted noted();

}  // namespace disk_faults
