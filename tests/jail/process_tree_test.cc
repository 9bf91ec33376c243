#include "jail/usage/process_tree.h"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <ctime>
#include <functional>
#include <thread>

#include "supervisor/base/fd.h"
#include "tests/catch.h"

namespace {

constexpr size_t kBytes = 16 << 20;

void* map(size_t bytes, int protection, int flags) {
  return ::mmap(nullptr, bytes, protection, flags | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

// "init", which has two children; the second has one of its own, which runs `body`. The test goes on when that has
// called what it is given, which returns when the test ends. Whoever lives holds the pipe open.
class Family {
 public:
  explicit Family(const std::function<void(std::function<void()>)>& body) {
    int go[2], end[2];
    REQUIRE(::pipe(go) == 0);
    REQUIRE(::pipe(end) == 0);
    end_ = Fd(end[1]);
    init = ::fork();
    REQUIRE(init >= 0);
    if (init == 0) {
      ::close(end[1]);
      auto wait = [&] {
        char byte;
        (void)!::read(end[0], &byte, 1);  // until the test closes its end
      };
      if (::fork() > 0 && ::fork() == 0 && ::fork() == 0) {
        body([&] {
          (void)!::write(go[1], "x", 1);
          wait();
        });
        ::_exit(0);
      }
      wait();
      ::_exit(0);
    }
    ::close(end[0]);
    char byte;
    REQUIRE(::read(go[0], &byte, 1) == 1);
    ::close(go[0]);
    ::close(go[1]);
  }
  ~Family() {
    end_.reset();
    ::waitpid(init, nullptr, 0);
  }
  pid_t init = 0;

 private:
  Fd end_;
};

}  // namespace

TEST_CASE("the tree below a process is counted, the process itself is not", "[jail]") {
  Family family([](const auto& reservation) {
    memset(map(kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE), 1, kBytes);
    while (std::clock() < CLOCKS_PER_SEC / 10) continue;
    reservation();
  });
  auto usage = jail::read_process_tree(family.init);
  CHECK(usage.tasks == 3);
  CHECK(usage.cpu_us >= 90'000);
  CHECK(usage.cpu_us < 2'000'000);
  CHECK(usage.memory_bytes >= kBytes);
}

TEST_CASE("shared memory is counted, once for all that map it", "[jail]") {
  constexpr size_t kShared = 192 << 20;  // more than five processes have of their own
  Family family([](const auto& reservation) {
    void* memory = map(kShared, PROT_READ | PROT_WRITE, MAP_SHARED);
    memset(memory, 1, kShared);
    if (::fork() > 0) return ::pause(), void();
    memset(memory, 2, kShared);
    reservation();
    ::kill(::getppid(), SIGKILL);
  });
  Family other([](const auto& reservation) { reservation(); });
  auto usage = jail::read_process_tree(family.init);
  auto without = jail::read_process_tree(other.init).memory_bytes;  // also the sockets of this machine
  CHECK(usage.tasks == 4);
  CHECK(usage.memory_bytes >= without + kShared);
  CHECK(usage.memory_bytes < without + 2 * kShared);
}

TEST_CASE("a copy of the writer's descriptor is found, open or mapped", "[jail]") {
  auto created = jail::SharedValues::make(1 << 20);
  REQUIRE(created);
  const auto values = *std::move(created);
  Fd copy(::dup(values->writer()));
  CHECK(values->is_held());
  CHECK(values->is_held());
  void* memory = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, copy.get(), 0);
  REQUIRE(memory != MAP_FAILED);
  copy.reset();
  CHECK(values->is_held());
  ::munmap(memory, 4096);
  CHECK_FALSE(values->is_held());
  CHECK(values->seal());
}

TEST_CASE("shared values do not count for those who read them, all else does", "[jail]") {
  constexpr size_t kValues = 96 << 20, kOther = 48 << 20, kCopied = 16 << 20;
  auto created = jail::SharedValues::make(kValues + 123);
  REQUIRE(created);
  const auto values = *std::move(created);
  CHECK(values->bytes() == kValues);
  {
    void* memory = ::mmap(nullptr, kValues, PROT_READ | PROT_WRITE, MAP_SHARED, values->file(), 0);
    REQUIRE(memory != MAP_FAILED);
    memset(memory, 1, kValues);
    CHECK_FALSE(values->seal());  // while it is mapped
    ::munmap(memory, kValues);
  }
  REQUIRE(values->seal());
  CHECK(::ftruncate(values->file(), 0) < 0);
  CHECK(::pwrite(values->file(), "x", 1, 0) < 0);
  Family reader([&](const auto& reservation) {
    auto* memory = static_cast<char*>(::mmap(nullptr, kValues, PROT_READ | PROT_WRITE, MAP_PRIVATE, values->file(), 0));
    uint64_t sum = 0;
    for (size_t at = 0; at < kValues; at += 4096) sum += static_cast<uint64_t>(memory[at]);
    memset(memory, 2, sum > 0 ? kCopied : 0);
    if (::fork() > 0) return ::pause(), void();
    ::munmap(memory, kValues);
    memset(map(kOther, PROT_READ | PROT_WRITE, MAP_SHARED), 1, kOther);  // beside what its parent reads
    reservation();
    ::kill(::getppid(), SIGKILL);
  });
  Family other([](const auto& reservation) { reservation(); });
  const uint64_t without = jail::read_process_tree(other.init).memory_bytes;
  const auto usage = jail::read_process_tree(reader.init);
  CHECK(usage.memory_bytes >= without + kValues);
  const auto apart = jail::read_process_tree(reader.init, values.get());
  CHECK(apart.shared_bytes >= kOther);
  CHECK(apart.memory_bytes >= without + kOther + kCopied);
  CHECK(usage.shared_bytes >= kValues - kCopied);
  CHECK(apart.shared_bytes < kOther + (8 << 20));
  CHECK(usage.memory_bytes - apart.memory_bytes >= kValues - kCopied - kOther - (8 << 20));
  jail::ValuesApart watched(values);
  CHECK_FALSE(watched.must_read(usage, UINT64_MAX));
  CHECK(watched.memory_bytes(usage) == usage.memory_bytes);
  CHECK(watched.must_read(usage, kValues));
  watched.take(usage, apart);
  CHECK(watched.memory_bytes(usage) == usage.memory_bytes - (usage.shared_bytes - apart.shared_bytes));
  jail::ValuesApart values_apart(nullptr);
  CHECK_FALSE(values_apart.must_read(usage, 1));
  CHECK(values_apart.memory_bytes(usage) == usage.memory_bytes);
}

TEST_CASE("page tables are counted", "[jail]") {
  // Reading gives each page the same zeros; only the tables that say so are memory: one page for each 2 MiB.
  constexpr size_t kSpan = size_t{8} << 30, kStep = 2 << 20;
  Family family([](const auto& reservation) {
    void* span = map(kSpan, PROT_READ, MAP_PRIVATE);
    ::madvise(span, kSpan, MADV_NOHUGEPAGE);
    for (size_t at = 0; at < kSpan; at += kStep) (void)static_cast<volatile char*>(span)[at];
    reservation();
  });
  CHECK(jail::read_process_tree(family.init).memory_bytes >= kSpan / kStep * 4096);
}

TEST_CASE("a process whose first thread has ended is counted", "[jail]") {
  Family family([](const auto& reservation) {
    std::thread second([&] {
      memset(map(kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE), 1, kBytes);
      // Its end is seen in /proc only: nobody waits for a first thread while there are others.
      for (char state = 0; state != 'Z';) {
        std::FILE* stat = std::fopen("/proc/self/stat", "re");
        if (stat == nullptr || std::fscanf(stat, "%*d (%*[^)]) %c", &state) != 1) ::_exit(1);
        std::fclose(stat);
        ::sched_yield();
      }
      reservation();
      ::_exit(0);
    });
    ::syscall(SYS_exit, 0);  // of this thread alone
  });
  CHECK(jail::read_process_tree(family.init).memory_bytes >= kBytes);
}

TEST_CASE("a child of a second thread is counted, and what computes is told from what waits", "[jail]") {
  Family family([](const auto& reservation) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // what computes ends with the family
    std::thread second([&] {
      if (::fork() == 0) {
        reservation();
        ::_exit(0);
      }
      ::pause();
    });
    for (;;) ::sched_yield();
  });
  auto usage = jail::read_process_tree(family.init);
  for (int looks = 1; looks < 1000 && usage.running != 1; looks++) {  // the others are about to wait
    ::sched_yield();
    usage = jail::read_process_tree(family.init);
  }
  CHECK(usage.is_read);
  CHECK(usage.processes.size() == 4);
  CHECK(usage.tasks == 5);
  CHECK(usage.running == 1);
}

TEST_CASE("a process that is gone has no tree", "[jail]") {
  pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  CHECK_FALSE(jail::read_process_tree(child).is_read);
  CHECK(jail::read_process_tree(child).tasks == 0);
  CHECK(jail::read_process_tree(0).tasks == 0);
  CHECK(jail::read_process_tree(-1).tasks == 0);
}
