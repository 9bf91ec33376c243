// Cgroups that a crashed daemon left, in a folder that cannot be read to its end. The hierarchy is a folder of the
// test, in a mount namespace of a child process; statfs(2) says there that it is a cgroup file system.
#include <dlfcn.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "jail/usage/cgroup.h"
#include "tests/catch.h"
#include "tests/failing_reads/failing_folder.h"
#include "tests/temp_directory.h"

namespace fs = std::filesystem;

namespace {

constexpr char kMount[] = "/sys/fs/cgroup";
constexpr long kCgroup2Magic = 0x63677270;  // CGROUP2_SUPER_MAGIC, linux/magic.h

bool is_fake_mounted = false;  // in the child process

// Of this process in the hierarchy of version 2; empty: it has none.
std::string own_cgroup() {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("0::/")) return line.substr(3);
  return {};
}

struct FakeHierarchy {
  TempDirectory temporary;
  fs::path root = temporary.path(), own = root / own_cgroup().substr(1);
  FakeHierarchy() {
    if (own.filename() == "supervisor") own = own.parent_path();
    for (const char* leaf : {"one", "two", "three"}) fs::create_directories(own / "jails" / leaf);
    fs::create_directories(own / "supervisor");
    std::ofstream(own / "cgroup.controllers") << "cpu memory pids\n";
    for (const char* file : {"cgroup.subtree_control", "supervisor/cgroup.procs", "jails/cgroup.subtree_control"})
      std::ofstream(own / file) << "";
  }
  size_t count_leaves() const {
    const auto entries = fs::directory_iterator(own / "jails");
    return static_cast<size_t>(
        std::count_if(begin(entries), end(entries), [](const auto& entry) { return entry.is_directory(); }));
  }
  // The text of the error of CgroupTree::adopt(); empty: none.
  std::string adopt() const {
    const fs::path result = root / "result";
    const pid_t child = ::fork();
    if (child == 0) {
      std::string text = "the folder cannot be mounted";
      if (::unshare(CLONE_NEWNS) == 0 && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
          ::mount(root.c_str(), kMount, nullptr, MS_BIND, nullptr) == 0) {
        is_fake_mounted = true;
        const auto tree = jail::CgroupTree::adopt(std::nullopt);
        text = tree ? "" : tree.error().what;
      }
      std::ofstream(result) << text;
      ::_exit(0);
    }
    REQUIRE(::waitpid(child, nullptr, 0) == child);
    std::ostringstream text;
    text << std::ifstream(result).rdbuf();
    return text.str();
  }
};

}  // namespace

extern "C" int statfs(const char* path, struct statfs* status) noexcept {
  using Function = int(const char*, struct statfs*);
  const int result = reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, "statfs"))(path, status);
  if (result == 0 && is_fake_mounted && std::strcmp(path, kMount) == 0) status->f_type = kCgroup2Magic;
  return result;
}

TEST_CASE("cgroups of a crashed daemon that cannot all be listed are not taken for removed", "[failing]") {
  if (::geteuid() != 0 || own_cgroup().empty() || !fs::exists(kMount)) {
    WARN("NOT TESTED: it needs root, and a system that has cgroups of version 2");
    return;
  }
  const FakeHierarchy fake;
  for (const int after : {0, 1}) {
    const auto problem = [&] {
      const FailingFolder failing("/jails", after);
      return fake.adopt();
    }();
    CHECK_THAT(problem, Catch::Matchers::Contains("cannot list 'jails': Input/output error"));
    CHECK(fake.count_leaves() >= 1);
  }
  CHECK(fake.adopt().empty());
  CHECK(fake.count_leaves() == 0);
}
