// The plan is read, and a step is taken: what the init of a jail and the copy of a zygote have in common.
#include <errno.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "jail/init/steps.h"

namespace jail::init {

uint64_t now_us() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000 + static_cast<uint64_t>(t.tv_nsec) / 1000;
}

void take(Step step, int (*run)()) {
  uint64_t start = now_us();
  if (int error = run()) give_up(step, error);
  report.step_us[static_cast<int>(step)] = static_cast<uint32_t>(now_us() - start);
}

int read_plan() {
  struct stat info {};
  if (fstat(kPlanFd, &info) < 0) return errno;
  if (info.st_size != static_cast<off_t>(sizeof(Plan))) return EINVAL;
  void* mapped = mmap(nullptr, sizeof(Plan), PROT_READ, MAP_PRIVATE, kPlanFd, 0);
  if (mapped == MAP_FAILED) return errno;
  plan = static_cast<const Plan*>(mapped);
  if (plan->version != kPlanVersion || plan->filter_length > kMaxFilter || plan->argument_count == 0 ||
      plan->argument_count > kMaxArguments || plan->environment_count > kMaxEnvironment ||
      plan->resource_limit_count > kMaxResourceLimits || plan->layer_count > kMaxLayers ||
      (plan->seccomp_flags & ~static_cast<uint32_t>(SECCOMP_FILTER_FLAG_LOG)))
    return EINVAL;
  return 0;
}

}  // namespace jail::init
