// Disk faults: writes of this process that a disk did not take (full, over a quota, broken, read-only). Noted at the
// failing write, on any thread. supervisor/records/disk/state_disk.h finds out whether the daemon's state disk is at
// fault, or only one tenant's quota.
#pragma once
#include <cstdint>

namespace disk_faults {

bool is_fault(int error);  // ENOSPC, EDQUOT, EIO, EROFS
void note(int error);      // notes a failed write by its errno; ignores all other errors

struct FaultCounts {
  uint64_t count = 0;  // since the process began
  int last = 0;        // errno of the last fault
};
FaultCounts noted();

}  // namespace disk_faults
