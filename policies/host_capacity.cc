#include "policies/host_capacity.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>

namespace policies {

HostCapacity HostCapacity::here() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0) return HostCapacity{static_cast<double>(CPU_COUNT(&set))};
  return HostCapacity{static_cast<double>(std::max(1l, ::sysconf(_SC_NPROCESSORS_ONLN)))};  // more than 1024 CPUs
}

}  // namespace policies
