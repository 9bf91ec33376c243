// Where there are no project quotas. Where there are: tests/system/suite/quota.py.
#include "supervisor/tenants/project.h"

#include <fcntl.h>

#include "tests/catch.h"

using namespace tenants;

TEST_CASE("a file system without project quotas is recognised", "[quota]") {
  Fd shm(::open("/dev/shm", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!shm) {
    WARN("SKIPPED-NEEDS /dev/shm");
    return;
  }
  auto enforced = project_quota_enforced(shm.get());
  REQUIRE_FALSE(enforced);
  CHECK(enforced.error().code == Code::unavailable);
  CHECK_FALSE(enforced.error().hint.empty());
  CHECK_FALSE(set_project(shm.get(), 0));
  CHECK_FALSE(join_project(shm.get(), shm.get(), shm.get()).value());
}

TEST_CASE("the wall stands behind all that the account allows", "[quota]") {
  const ProjectLimits wall = wall_behind({1 << 20, 100});
  CHECK(wall.bytes == (1 << 20) + 100 * 4096 + (64 << 20));  // each file small, and the largest being replaced
  CHECK(wall.inodes == 136);  // with three folders, staging folders that wait, and a file that is being replaced
}
