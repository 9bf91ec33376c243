// The kernel's side of quotas. Needs root and an empty folder on a file system with project quotas: the guests of
// tests/system have such a disk; WARDER_PROJECT_QUOTA_FOLDER names the folder.
#include <sys/wait.h>

#include <cstdlib>

#include "supervisor/tenants/quota.h"
#include "tests/catch.h"

using namespace tenants;

namespace {

// Writes a file as an ordinary user, as CAP_SYS_RESOURCE is above quotas. The errno it ended with, 0 for none.
int write_as_user(int folder, const char* name, size_t bytes) {
  pid_t child = ::fork();
  if (child == 0) {
    if (::setresuid(1000, 1000, 1000) < 0) ::_exit(errno);
    Fd file(::openat(folder, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    if (!file) ::_exit(errno);
    ::_exit(write_all(file.get(), std::string(bytes, 'x')) ? 0 : errno);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  return WEXITSTATUS(status);
}

}  // namespace

TEST_CASE("the kernel holds a project's limits", "[quota]") {
  const char* path = std::getenv("WARDER_PROJECT_QUOTA_FOLDER");
  if (path == nullptr) {
    WARN("SKIPPED-NEEDS a file system with project quotas in WARDER_PROJECT_QUOTA_FOLDER");
    return;
  }
  constexpr uint32_t kProject = 4242;
  Fd parent = open_directory(path).value();
  REQUIRE(::mkdirat(parent.get(), "workspace", 0700) == 0);
  REQUIRE(::fchownat(parent.get(), "workspace", 1000, 1000, 0) == 0);
  Fd folder = open_directory_beneath(parent.get(), RelativePath::parse("workspace").value()).value();
  REQUIRE(project_quota_enforced(folder.get()));
  REQUIRE(set_project(folder.get(), kProject));
  CHECK(project_of(folder.get()).value() == kProject);
  REQUIRE(set_project_limits(folder.get(), {kProject, {100 * 1024, 4}}));

  CHECK(write_as_user(folder.get(), "a", 40 * 1024) == 0);
  CHECK(write_as_user(folder.get(), "b", 100 * 1024) == EDQUOT);
  CHECK(write_as_user(folder.get(), "c", 1) != 0);       // no byte is left
  CHECK(write_as_user(folder.get(), "d", 0) == EDQUOT);  // the folder counts as a file
  auto usage = project_usage(folder.get(), kProject);
  REQUIRE(usage);
  CHECK(usage->files == 4);
  CHECK(usage->bytes <= 100 * 1024);
  CHECK(usage->bytes > 80 * 1024);
  CHECK(project_of(parent.get()).value() != kProject);
  CHECK(write_as_user(parent.get(), "outside", 1) != EDQUOT);

  REQUIRE(::setresuid(-1, 1000, -1) == 0);  // without privilege: asking works, setting does not
  auto enforced = project_quota_enforced(folder.get());
  auto limits = set_project_limits(folder.get(), {kProject, {1 << 30, 1000}});
  REQUIRE(::setresuid(-1, 0, -1) == 0);
  CHECK(enforced);
  REQUIRE_FALSE(limits);
  CHECK(limits.error().code == Code::unavailable);
}
