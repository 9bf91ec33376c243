// The list of jails that use the disk, and which of them end when it is full. The jailer is played by a thread.
#include "supervisor/records/disk/disk_floor.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "jail/fd_message.h"
#include "jail/orders.h"
#include "jail/pidfd.h"
#include "tests/catch.h"
#include "tests/jail/await.h"
#include "tests/temp_directory.h"

namespace {

constexpr uint64_t kMiB = 1 << 20;

// A process in place of a jail's init.
struct Process {
  Process() : pid(::fork()) {
    if (pid == 0) {
      for (;;) ::pause();
    }
    pidfd = Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  }
  ~Process() { end(); }
  void end() {
    if (pid <= 0) return;
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    pid = 0;
  }
  pid_t pid;
  Fd pidfd;
};

struct FloorScene {
  FloorScene() {
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    jailer_end = Fd(ends[1]);
    client = jail::JailerClient::start(loop, Fd(ends[0]), [] {}).value();
    users = std::make_unique<jail::DiskUsers>(loop, *client);
    disk = WorkerThread::start(loop).value();
    floor = std::make_unique<DiskFloor>(loop, *disk, *users, temp.path().string());
  }
  ~FloorScene() {
    floor.reset();
    users.reset();
    client.reset();
    if (jailer.joinable()) jailer.join();
  }
  // Call it when all processes are there: from then on, `held` does not change.
  void play_jailer() {
    jailer = std::thread([this] {
      for (;;) {
        jail::Order order{};
        auto received = jail::receive_message(jailer_end.get(), &order, sizeof order, 4);
        if (!received || !received->open) return;
        counts++;
        jail::JailerAnswer answer{order.token, 0, jail::Step::none, 0};
        const auto& of = reserved[jail::pid_of(received->fds.at(0).get())];
        answer.held_bytes = of.bytes;
        answer.held_files = of.files;
        answer.written_bytes = of.written;
        static_cast<void>(jail::send_message(jailer_end.get(), &answer, sizeof answer, {}));
      }
    });
  }
  // `ended` gets the name when the jail is ended.
  std::unique_ptr<jail::DiskUse> use(Process& process, const std::string& name) {
    jail::DiskAccount account;
    account.owner = name;
    account.holds = [this, name](const jail::HeldFiles& now) { reported[name] = now.bytes; };
    auto use = std::make_unique<jail::DiskUse>(*users, process.pidfd.get(), std::move(account));
    use->set_end([this, name, &process] {
      ended += name;
      process.end();
    });
    return use;
  }

  TempDirectory temp;
  Loop loop;
  Fd jailer_end;
  std::map<int, jail::HeldFiles> reserved;   // by pid
  std::map<std::string, uint64_t> reported;  // the last bytes of each account
  std::string ended;
  std::atomic<int> counts{0};
  std::unique_ptr<jail::JailerClient> client;
  std::unique_ptr<jail::DiskUsers> users;
  std::unique_ptr<WorkerThread> disk;
  std::unique_ptr<DiskFloor> floor;
  std::thread jailer;
};

}  // namespace

TEST_CASE("while a program runs, its files are counted; a frozen jail's are not, and no jail's after its end",
          "[disk]") {
  Process program, frozen;
  FloorScene scene;
  scene.reserved[program.pid] = {3 * kMiB, 2, 0, false, false};
  scene.reserved[frozen.pid] = {kMiB, 1, 0, false, false};
  scene.play_jailer();
  auto running = scene.use(program, "a");
  const auto resting = scene.use(frozen, "b");
  resting->set_pace(jail::DiskUse::Pace(0));
  REQUIRE(run_until(scene.loop, [&] { return scene.counts >= 2; }));
  REQUIRE(run_until(scene.loop, [&] { return scene.reported.contains("a"); }));
  CHECK(scene.reported["a"] == 3 * kMiB);
  CHECK(running->reserved().files == 2);
  CHECK_FALSE(scene.reported.contains("b"));
  running.reset();
  CHECK(scene.reported["a"] == 0);
}

TEST_CASE("of a full disk, the jails that have taken a part of it end, and then all", "[disk]") {
  Process holder, writer, small;
  FloorScene scene;
  scene.reserved[holder.pid] = {100 * kMiB, 5, kMiB / 2, false, false};
  scene.reserved[writer.pid] = {0, 0, 20 * kMiB, false, false};
  scene.reserved[small.pid] = {kMiB / 2, 3, kMiB / 4, false, false};
  scene.play_jailer();
  const auto a = scene.use(holder, "a"), b = scene.use(writer, "b"), c = scene.use(small, "c");
  auto ending = [&](DiskFloor::Which which) {
    auto task = start(scene.floor->end_jails(which));
    return run_until(scene.loop, [&] { return task.done(); });
  };
  REQUIRE(ending(DiskFloor::Which::writers));
  CHECK(scene.ended == "ab");
  CHECK(c->claimed().bytes == kMiB / 2);
  REQUIRE(ending(DiskFloor::Which::all));
  CHECK(scene.ended.ends_with("c"));
}

TEST_CASE("a folder that grows is taken, too, whoever counts the bytes", "[disk]") {
  Process process;
  FloorScene scene;
  jail::DiskAccount account;
  uint64_t bytes = 10 * kMiB;
  account.named = [&bytes] { return jail::DiskSize{bytes, 7}; };
  const jail::DiskUse use(*scene.users, process.pidfd.get(), std::move(account));
  CHECK(use.claimed().bytes == 0);
  bytes = 15 * kMiB;
  CHECK(use.claimed().bytes == 5 * kMiB);
  bytes = kMiB;
  CHECK(use.claimed().bytes == 0);
}
