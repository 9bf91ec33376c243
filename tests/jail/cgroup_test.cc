// Files and texts, on an ordinary directory; real cgroups are the system suite's.
#include "jail/usage/cgroup.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <fstream>
#include <sstream>

#include "tests/catch.h"
#include "tests/temp_directory.h"

using namespace jail;

namespace {

class FakeLeaf {
 public:
  FakeLeaf() {
    std::filesystem::create_directory(directory_.path() / "leaf");
    for (const char* name : {"memory.max", "memory.swap.max", "memory.oom.group", "pids.max", "cpu.max", "cgroup.kill"})
      put(name, "");
    cgroup = Cgroup(open(directory_.path()), open(directory_.path() / "leaf"), "leaf");
  }
  std::filesystem::path file(const char* name) const { return directory_.path() / "leaf" / name; }
  void put(const char* name, const char* text) const { std::ofstream(file(name)) << text; }
  std::string get(const char* name) const {
    std::stringstream text;
    text << std::ifstream(file(name)).rdbuf();
    return text.str();
  }
  Cgroup cgroup;

 private:
  static Fd open(const std::filesystem::path& path) {
    return Fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  TempDirectory directory_;
};

}  // namespace

TEST_CASE("limits are written as the kernel reads them", "[jail]") {
  FakeLeaf leaf;
  REQUIRE(leaf.cgroup.set({256 << 20, 33, 1.5}));
  CHECK(leaf.get("memory.max") == "268435456");
  CHECK(leaf.get("memory.swap.max") == "0");
  CHECK(leaf.get("memory.oom.group") == "1");
  CHECK(leaf.get("pids.max") == "33");
  CHECK(leaf.get("cpu.max") == "150000 100000");
}

TEST_CASE("a kernel without swap accounting is no error, one without another file is, and it is named", "[jail]") {
  FakeLeaf leaf;
  std::filesystem::remove(leaf.file("memory.swap.max"));
  CHECK(leaf.cgroup.set({1 << 20, 1, 1}));
  FakeLeaf other;
  std::filesystem::remove(other.file("memory.oom.group"));
  auto set = other.cgroup.set({1 << 20, 1, 1});
  REQUIRE_FALSE(set);
  CHECK_THAT(set.error().what, Catch::Matchers::Contains("memory.oom.group"));
}

TEST_CASE("usage is read key by key, and what a kernel lacks is 0", "[jail]") {
  FakeLeaf leaf;
  CHECK_FALSE(leaf.cgroup.usage());  // cpu.stat is in every cgroup of version 2
  leaf.put("cpu.stat", "usage_usec 12345\nuser_usec 12000\nsystem_usec 345\n");
  leaf.put("memory.events", "low 0\nhigh 0\nmax 9\noom 2\noom_kill 1\noom_group_kill 1\n");
  leaf.put("pids.events", "max 7\n");
  auto usage = leaf.cgroup.usage();
  REQUIRE(usage);
  CHECK(usage->cpu_us == 12345);
  CHECK(usage->oom_kills == 1);  // neither "oom 2" nor "oom_group_kill"
  CHECK(usage->tasks_refused == 7);
  CHECK(usage->memory_peak_bytes == 0);
  CHECK(usage->tasks_peak == 0);
  leaf.put("memory.peak", "18446744073709551615\n");
  leaf.put("pids.peak", "5\n");
  usage = leaf.cgroup.usage();
  REQUIRE(usage);
  CHECK(usage->memory_peak_bytes == ~uint64_t{0});
  CHECK(usage->tasks_peak == 5);
  CHECK(leaf.cgroup.cpu_us() == 12345);
}

TEST_CASE("a leaf that holds processes says so, and is killed as a whole", "[jail]") {
  FakeLeaf leaf;
  leaf.put("cgroup.events", "populated 1\nfrozen 0\n");
  CHECK(leaf.cgroup.populated());
  leaf.put("cgroup.events", "populated 0\nfrozen 0\n");
  CHECK_FALSE(leaf.cgroup.populated());
  REQUIRE(leaf.cgroup.kill());
  CHECK(leaf.get("cgroup.kill") == "1");
}

TEST_CASE("removing a leaf ends it; a second time is no error", "[jail]") {
  FakeLeaf leaf;
  for (const auto& entry : std::filesystem::directory_iterator(leaf.file(".")))
    std::filesystem::remove(entry.path());  // a cgroup's files go with it
  REQUIRE(leaf.cgroup.remove());
  CHECK_FALSE(leaf.cgroup);
  CHECK(leaf.cgroup.remove());
}

TEST_CASE("a system without cgroup v2 is told so, with a remedy", "[jail]") {
  struct statfs kind {};
  if (::statfs("/sys/fs/cgroup", &kind) == 0 && kind.f_type == 0x63677270) {
    WARN("this system has cgroup v2; adopting it is the system suite's");
    return;
  }
  auto tree = CgroupTree::adopt(std::nullopt);
  REQUIRE_FALSE(tree);
  CHECK(tree.error().code == Code::unavailable);
  CHECK_THAT(tree.error().what, Catch::Matchers::Contains("cgroup v2"));
  CHECK_THAT(tree.error().hint, Catch::Matchers::Contains("systemd.unified_cgroup_hierarchy=1"));
}
