#include "supervisor/base/disk_faults.h"

#include <atomic>
#include <cerrno>

namespace disk_faults {
namespace {

std::atomic<uint64_t> count{0};
std::atomic<int> last{0};

}  // namespace

bool is_fault(int error) { return error == ENOSPC || error == EDQUOT || error == EIO || error == EROFS; }

void note(int error) {
  if (!is_fault(error)) return;
  last = error;
  count++;
}

FaultCounts noted() { return {count, last}; }

}  // namespace disk_faults
