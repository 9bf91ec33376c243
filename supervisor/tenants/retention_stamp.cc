#include "supervisor/tenants/retention_stamp.h"

#include <sys/stat.h>

#include <cerrno>

#include "supervisor/base/elapsed_clock.h"

namespace tenants {

Result<> stamp_with_retention_time(int fd) {
  const int64_t now = retention_now_ms();
  const timespec time{static_cast<time_t>(now / 1000), static_cast<long>(now % 1000 * 1'000'000)};
  const timespec times[2] = {time, time};
  if (::futimens(fd, times) < 0) return fail_errno(errno, "set the time of a stored file");
  return {};
}

}  // namespace tenants
