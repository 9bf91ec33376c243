// What the jailer believes: ids, folders, processes. Whole orders against a whole jailer: tests/hostile.
#include "jail/jailer/order_check.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <csignal>
#include <filesystem>

#include "jail/pidfd.h"
#include "tests/catch.h"
#include "tests/temp_directory.h"

using namespace jail;
namespace fs = std::filesystem;

namespace {

constexpr uint32_t kDaemon = 990, kDaemonGroup = 991;
const IdRange kIds{1'000'000, 10};  // init, eight runners, the daemon where it has no user

OrderRules rules(bool separated, bool maps_mounts) {
  OrderRules rules;
  rules.separated = separated;
  rules.ids = kIds;
  rules.daemon_uid = kDaemon;
  rules.daemon_gid = kDaemonGroup;
  rules.maps_mounts = maps_mounts;
  return rules;
}

bool allows(const OrderRules& rules, Identity identity, uint32_t init, uint32_t runner) {
  Order order{};
  order.type = OrderType::build;
  order.identity = identity;
  order.init_id = init;
  order.runner_id = runner;
  const OrderVerdict verdict = judge_ids(rules, order);
  CHECK(verdict.error == (verdict ? 0 : EPERM));
  CHECK(std::string(verdict.why).empty() == static_cast<bool>(verdict));
  return static_cast<bool>(verdict);
}

Fd open_path(const fs::path& path) { return Fd(::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC)); }

struct Child {  // waits for its end
  Child() : pid(::fork()) {
    if (pid == 0) {
      for (;;) ::pause();
    }
    pidfd = Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  }
  ~Child() { end(); }
  void end() {
    if (pid <= 0) return;
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    pid = 0;
  }
  pid_t pid;
  Fd pidfd;
};

}  // namespace

TEST_CASE("a range has an init, runners and the daemon, and gives none of them out twice", "[jail]") {
  CHECK(kIds.init() == 1'000'000);
  CHECK(kIds.first_runner() == 1'000'001);
  CHECK(kIds.runners() == 8);
  CHECK(kIds.daemon() == 1'000'009);
  CHECK_FALSE(kIds.has_runner(kIds.init()));
  CHECK(kIds.has_runner(1'000'001));
  CHECK(kIds.has_runner(1'000'008));
  CHECK_FALSE(kIds.has_runner(kIds.daemon()));
  CHECK(kIds.has(kIds.init()));
  CHECK(kIds.has(kIds.daemon()));
  CHECK_FALSE(kIds.has(999'999));
  CHECK_FALSE(kIds.has(1'000'010));
  const IdRange least{65536, IdRange::kMin};
  CHECK(least.runners() == 2);
  CHECK(least.has_runner(65538));
  CHECK_FALSE(least.has_runner(65539));
}

TEST_CASE("ids of a jail are those of the range, and of this daemon's kind", "[jail]") {
  const auto mapped = rules(true, true), unmapped = rules(true, false), shared = rules(false, false);
  const uint32_t init = kIds.init();
  CHECK(allows(mapped, Identity::separated, init, 1'000'001));
  CHECK(allows(mapped, Identity::separated, init, 1'000'008));
  CHECK(allows(unmapped, Identity::separated, init, kDaemon));
  CHECK(allows(shared, Identity::shared, kDaemon, kDaemon));
  for (const uint32_t id : {0u, 1000u, kDaemon, init - 1, init, kIds.daemon(), kIds.daemon() + 1, UINT32_MAX})
    CHECK_FALSE(allows(mapped, Identity::separated, init, id));
  for (const uint32_t id : {0u, 1000u, kDaemonGroup, init, init + 1, UINT32_MAX}) {
    CHECK_FALSE(allows(unmapped, Identity::separated, init, id));
    CHECK_FALSE(allows(shared, Identity::shared, kDaemon, id));
    CHECK_FALSE(allows(shared, Identity::shared, id, kDaemon));
  }
  for (const uint32_t id : {0u, init - 1, init + 1, kDaemon})
    CHECK_FALSE(allows(mapped, Identity::separated, id, 1'000'001));
  CHECK_FALSE(allows(mapped, Identity::shared, init, 1'000'001));
  CHECK_FALSE(allows(shared, Identity::separated, kDaemon, kDaemon));
  CHECK_FALSE(allows(mapped, static_cast<Identity>(7), init, 1'000'001));
  auto inside = rules(true, true);  // a daemon's user inside of the range is refused at the start, and here
  inside.daemon_uid = 1'000'004;
  CHECK_FALSE(allows(inside, Identity::separated, init, 1'000'004));
}

TEST_CASE("folders are the daemon's, below those of workspaces, on their mount", "[jail]") {
  TempDirectory folder;
  const fs::path top = folder.path();
  fs::create_directories(top / "tenants/a/workspace");
  fs::create_directories(top / "tenants-of-others/a");
  fs::create_directories(top / "single/below");
  fs::create_directory_symlink(top / "tenants-of-others", top / "tenants/link");
  fs::create_directories(top / "tenants/a/with\nline (deleted)");
  auto make = [&](uint32_t owner) {
    std::vector<Fd> parents, single;
    parents.push_back(open_path(top / "tenants"));
    single.push_back(open_path(top / "single"));
    auto created = AllowedFolders::make(std::move(parents), single, owner);
    REQUIRE(created);
    return *std::move(created);
  };
  const auto own = make(::geteuid()), peers = make(::geteuid() + 1);
  auto allowed = [](const AllowedFolders& folders, const Fd& fd) {
    return folders.judge(fd.get()).refused_by == nullptr;
  };
  for (const char* path : {"tenants/a", "tenants/a/workspace", "tenants/a/with\nline (deleted)"}) {
    INFO(path);
    CHECK(allowed(own, open_path(top / path)));
    CHECK_FALSE(own.judge(open_path(top / path).get()).single);
    CHECK_FALSE(allowed(peers, open_path(top / path)));
  }
  CHECK(allowed(own, open_path(top / "single")));
  CHECK(allowed(peers, open_path(top / "single")));
  CHECK(own.judge(open_path(top / "single").get()).single);
  for (const char* path : {"", "tenants", "tenants-of-others", "tenants-of-others/a", "tenants/link", "single/below"}) {
    INFO(path);
    CHECK_FALSE(allowed(own, open_path(top / path)));
  }
  CHECK_FALSE(allowed(own, open_path("/")));
  CHECK_FALSE(allowed(own, open_path("/proc/self")));
  CHECK_FALSE(allowed(own, Fd()));
  // By another name, and after a move.
  CHECK(allowed(own, open_path(top / "tenants-of-others/../tenants/a")));
  const Fd moves = open_path(top / "tenants/a/workspace");
  fs::rename(top / "tenants/a/workspace", top / "workspace");
  CHECK_FALSE(allowed(own, moves));
  fs::rename(top / "workspace", top / "tenants/workspace");
  CHECK(allowed(own, moves));
  CHECK(own.judge(moves.get()).inode > 0);
  CHECK_FALSE(AllowedFolders::make({}, {}, 0));
}

TEST_CASE("what /proc says of a process is read strictly", "[jail]") {
  const std::string text =
      "Name:\tPPid:\\t1\nUmask:\t0022\nTgid:\t70\nPid:\t70\nPPid:\t41\nTracerPid:\t0\n"
      "Uid:\t1000\t1001\t1002\t4294967295\nGid:\t1\t1\t1\t1\nNSpid:\t70\t12\t1\n";
  const auto facts = parse_status(text);
  REQUIRE(facts);
  CHECK(facts->parent == 41);
  CHECK(facts->innermost_pid == 1);
  CHECK(facts->uids == std::array<uint32_t, 4>{1000, 1001, 1002, UINT32_MAX});
  CHECK(parse_status("PPid:\t0\nUid:\t0\t0\t0\t0\nNSpid:\t1\n"));
  for (const char* wrong :
       {"", "\n", "PPid:\t1\nUid:\t0\t0\t0\t0\n", "PPid:\t1\nNSpid:\t1\n", "Uid:\t0\t0\t0\t0\nNSpid:\t1\n",
        "PPid:\t-1\nUid:\t0\t0\t0\t0\nNSpid:\t1\n", "PPid:\t1x\nUid:\t0\t0\t0\t0\nNSpid:\t1\n",
        "PPid:\t1\nUid:\t0\t0\t0\nNSpid:\t1\n", "PPid:\t1\nUid:\t0\t0\t0\t0\t0\nNSpid:\t1\n",
        "PPid:\t1\nUid:\t0\t0\t-1\t0\nNSpid:\t1\n", "PPid:\t1\nUid:\t0\t0\t4294967296\t0\nNSpid:\t1\n",
        "PPid:\t1\nUid:\t0\t0\t0\t0\nNSpid:\t0\n", "PPid:\t1\nUid:\t0\t0\t0\t0\nNSpid:\t\n",
        "PPid:\t1\nUid:\t0\t0\t0\t0\nNSpid:\t7\t\n", "PPid: 1\nUid:\t0\t0\t0\t0\nNSpid:\t1\n",
        "PPid:\t1\nUid:\t0\t0\t0\t0\nNSpid:\t1"}) {
    INFO(wrong);
    CHECK_FALSE(parse_status(wrong));
  }
  const auto own = read_process(::getpid());
  REQUIRE(own);
  CHECK(own->parent == ::getppid());
  CHECK(own->uids == std::array<uint32_t, 4>{::getuid(), ::geteuid(), ::geteuid(), ::geteuid()});
  CHECK_FALSE(read_process(0));
}

TEST_CASE("a pidfd tells the number of its process while that lives", "[jail]") {
  Child child;
  CHECK(pid_of(child.pidfd.get()) == child.pid);
  CHECK(is_alive(child.pidfd.get()));
  child.end();
  CHECK(pid_of(child.pidfd.get()) == 0);
  CHECK_FALSE(is_alive(child.pidfd.get()));
  const Fd folder = open_path("/");
  CHECK(pid_of(folder.get()) == 0);
  CHECK_FALSE(is_alive(folder.get()));
  CHECK(pid_of(-1) == 0);
}

TEST_CASE("the table of jails knows the living, and forgets the dead", "[jail]") {
  LivingJails jails(kIds.init());
  CHECK(jails.find(0) == nullptr);
  {
    Child jail, other;
    const pid_t pid = jail.pid;
    jails.add(pid, Fd(::dup(jail.pidfd.get())), 7, Role::jail);
    REQUIRE(jails.find(pid));
    CHECK(jails.find(pid)->runner_id == 7);
    CHECK_FALSE(jails.find(pid)->attached);
    CHECK(jails.find(other.pid) == nullptr);
    CHECK(jails.home_of_fork(other.pidfd.get(), other.pid) == nullptr);
    jail.end();
    CHECK(jails.find(pid) == nullptr);  // whoever has that number now
    jails.add(pid, Fd(::dup(other.pidfd.get())), 8, Role::zygote);
    CHECK(jails.find(pid)->runner_id == 8);
  }
  const auto descriptors = [] {
    return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
  };
  const auto before = descriptors();
  for (int i = 0; i < 300; i++) {
    Child short_lived;
    CHECK(jails.has_room());
    jails.add(short_lived.pid, std::move(short_lived.pidfd), 9, Role::jail);
  }
  CHECK(descriptors() < before + 10);
}
