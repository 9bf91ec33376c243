// Files without a name: a process that holds some by descriptor, by mapping and in a thread's own table of descriptors.
#include "jail/jailer/file_count.h"

#include "jail/fd_message.h"
#include "jail/jailer/file_counters.h"
#include "jail/orders.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include "supervisor/base/fd.h"
#include "tests/catch.h"
#include "tests/temp_directory.h"

namespace {

constexpr uint64_t kMiB = 1 << 20;

// A process that has done `work` and waits until the end of the test. Its parent, "init", waits for it.
class Holder {
 public:
  explicit Holder(const std::function<void()>& work) {
    int ready[2], end[2];
    REQUIRE(::pipe(ready) == 0);
    REQUIRE(::pipe(end) == 0);
    end_ = Fd(end[1]);
    init = ::fork();
    REQUIRE(init >= 0);
    if (init == 0) {
      ::close(end[1]);
      if (::fork() == 0) {
        work();
        (void)!::write(ready[1], "x", 1);
      }
      char byte;
      (void)!::read(end[0], &byte, 1);  // until the test closes its end
      ::_exit(0);
    }
    const Fd closed_ready(ready[1]), closed_end(end[0]), done(ready[0]);
    char byte;
    REQUIRE(::read(done.get(), &byte, 1) == 1);
  }
  ~Holder() {
    end_.reset();
    ::waitpid(init, nullptr, 0);
  }
  pid_t init = 0;

 private:
  Fd end_;
};

struct Folder {
  TempDirectory temp;
  uint64_t device = 0;
  Folder() {
    struct stat info {};
    REQUIRE(::stat(temp.path().c_str(), &info) == 0);
    device = static_cast<uint64_t>(info.st_dev);
  }

  // A file of that size; its descriptor stays open in this process.
  int make(const std::string& name, uint64_t bytes) const {
    const int file = ::open((temp.path() / name).c_str(), O_RDWR | O_CREAT, 0600);
    const std::string text(bytes, 'x');
    if (::write(file, text.data(), text.size()) != static_cast<ssize_t>(bytes)) ::_exit(1);
    return file;
  }
  void unlink(const std::string& name) const { ::unlink((temp.path() / name).c_str()); }
};

}  // namespace

TEST_CASE("files without a name count once, whoever holds them how often", "[files]") {
  const Folder folder;
  const Holder holder([&] {
    const int file = folder.make("unlinked", 3 * kMiB);
    folder.unlink("unlinked");
    for (int i = 0; i < 5; i++) (void)!::dup(file);
    (void)!::mmap(nullptr, kMiB, PROT_READ, MAP_SHARED, file, 0);
    folder.make("named", 2 * kMiB);
  });
  const auto held_files = jail::count_held_files(holder.init, folder.device);
  CHECK(held_files.files == 1);
  CHECK(held_files.bytes == 3 * kMiB);
  CHECK(held_files.written >= 5 * kMiB);
  CHECK_FALSE(held_files.is_partial);
  CHECK_FALSE(held_files.is_denied);
}

TEST_CASE("a mapping holds a file that no descriptor has", "[files]") {
  const Folder folder;
  const Holder holder([&] {
    const int file = folder.make("mapped", 2 * kMiB);
    if (::mmap(nullptr, 2 * kMiB, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) == MAP_FAILED) ::_exit(1);
    ::close(file);
    folder.unlink("mapped");
    const int named = folder.make("named", kMiB);
    if (::mmap(nullptr, kMiB, PROT_READ, MAP_PRIVATE, named, 0) == MAP_FAILED) ::_exit(1);
  });
  const auto held_files = jail::count_held_files(holder.init, folder.device);
  CHECK(held_files.files == 1);
  CHECK(held_files.bytes == 2 * kMiB);
}

TEST_CASE("a thread with its own table of descriptors hides nothing", "[files]") {
  const Folder folder;
  const Holder holder([&] {
    int ready[2];
    if (::pipe(ready) < 0) ::_exit(1);
    std::thread([&] {
      if (::unshare(CLONE_FILES) < 0) ::_exit(1);
      folder.make("of a thread", kMiB);
      folder.unlink("of a thread");
      (void)!::write(ready[1], "x", 1);
      for (;;) ::pause();
    }).detach();
    char byte;
    (void)!::read(ready[0], &byte, 1);
  });
  CHECK(jail::count_held_files(holder.init, folder.device).bytes == kMiB);
}

TEST_CASE("files of other file systems, closed files and files with another name are not counted", "[files]") {
  const Folder folder;
  const Holder holder([&] {
    ::close(folder.make("closed", kMiB));
    folder.unlink("closed");
    folder.make("first", kMiB);
    ::link((folder.temp.path() / "first").c_str(), (folder.temp.path() / "second").c_str());
    folder.unlink("first");
    folder.make("unlinked", kMiB);
    folder.unlink("unlinked");
  });
  CHECK(jail::count_held_files(holder.init, folder.device).bytes == kMiB);
  CHECK(jail::count_held_files(holder.init, folder.device + 1).files == 0);
}

TEST_CASE("a folder and an O_TMPFILE file are inodes, too", "[files]") {
  const Folder folder;
  const Holder holder([&] {
    const std::string name = folder.temp.path() / "folder";
    ::mkdir(name.c_str(), 0700);
    (void)!::open(name.c_str(), O_RDONLY | O_DIRECTORY);
    ::rmdir(name.c_str());
    if (::open(folder.temp.path().c_str(), O_TMPFILE | O_RDWR, 0600) < 0) ::_exit(1);
  });
  CHECK(jail::count_held_files(holder.init, folder.device).files == 2);
}

TEST_CASE("what a process may hold is bounded, and so is the work of the count", "[files]") {
  const Folder folder;
  const Holder holder([&] {
    const pid_t parent = ::getpid();
    for (int i = 0; i < 1100; i++)
      if (::fork() == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (::getppid() == parent) ::pause();
        ::_exit(0);
      }
  });
  const auto held_files = jail::count_held_files(holder.init, folder.device);
  CHECK(held_files.is_partial);
}

TEST_CASE("a child of the jailer counts below /workspace of the jail, and answers", "[files]") {
  if (::geteuid() != 0) return;  // only root changes the root of a process
  const Folder folder;
  const Holder holder([&] {
    ::mkdir((folder.temp.path() / "workspace").c_str(), 0700);
    if (::chroot(folder.temp.path().c_str()) < 0 || ::chdir("/workspace") < 0) ::_exit(1);
    const int file = ::open("unlinked", O_RDWR | O_CREAT, 0600);
    const std::string text(kMiB, 'x');
    (void)!::write(file, text.data(), text.size());
    ::unlink("unlinked");
  });
  // The holder itself has that root; its parent has not, and its folder is another one.
  std::ifstream children("/proc/" + std::to_string(holder.init) + "/task/" + std::to_string(holder.init) + "/children");
  int jail = 0;
  children >> jail;
  REQUIRE(jail > 0);
  const auto former = ::signal(SIGCHLD, SIG_IGN);  // as the jailer: its children are reaped at once
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
  const Fd daemon(ends[0]), jailer(ends[1]);
  jail::FileCounters counters;
  for (uint64_t token = 1; token <= 3 * jail::FileCounters::kMax; token++) {
    int error = 0;
    do error = counters.start(jail, jailer.get(), token);
    while (error == EAGAIN);  // earlier children have answered, and are about to end
    REQUIRE(error == 0);
    jail::JailerAnswer answer{};
    REQUIRE(jail::receive_message(daemon.get(), &answer, sizeof answer, 0));
    CHECK(answer.token == token);
    CHECK(answer.error == 0);
    CHECK(answer.held_files == 1);
    CHECK(answer.held_bytes == kMiB);
    CHECK(answer.written_bytes >= kMiB);
  }
  ::signal(SIGCHLD, former);
}

TEST_CASE("a process that has ended holds nothing", "[files]") {
  const Folder folder;
  pid_t removed = 0;
  {
    const Holder holder([] {});
    removed = holder.init;
  }
  const auto held_files = jail::count_held_files(removed, folder.device);
  CHECK(held_files.files == 0);
  CHECK_FALSE(held_files.is_denied);
  CHECK_FALSE(jail::workspace_device(removed));
}
