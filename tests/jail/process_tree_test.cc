#include "jail/process_tree.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "supervisor/base/fd.h"
#include "tests/catch.h"

namespace {

constexpr size_t kBytes = 16 << 20;

// "init", which has two children; the second has one of its own with memory. Whoever lives holds the pipe open.
class Family {
 public:
  Family() {
    int go[2], end[2];
    REQUIRE(::pipe(go) == 0);
    REQUIRE(::pipe(end) == 0);
    end_ = Fd(end[1]);
    init = ::fork();
    REQUIRE(init >= 0);
    if (init == 0) {
      ::close(end[1]);
      if (::fork() > 0 && ::fork() == 0 && ::fork() == 0) {
        void* memory = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memset(memory, 1, kBytes);
        (void)!::write(go[1], "x", 1);
      }
      char byte;
      (void)!::read(end[0], &byte, 1);  // until the test closes its end
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
  Family family;
  auto usage = jail::read_process_tree(family.init);
  CHECK(usage.tasks == 3);
  CHECK(usage.private_bytes >= kBytes);
}

TEST_CASE("a process that is gone has no tree", "[jail]") {
  pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  CHECK(jail::read_process_tree(child).tasks == 0);
  CHECK(jail::read_process_tree(0).tasks == 0);
  CHECK(jail::read_process_tree(-1).tasks == 0);
}
