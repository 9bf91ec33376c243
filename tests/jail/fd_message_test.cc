#include "jail/fd_message.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "tests/catch.h"
#include "tests/jail/descriptors.h"

using namespace jail;

namespace {

struct Pair {
  Pair() {
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
    a = Fd(ends[0]);
    b = Fd(ends[1]);
  }
  Fd a, b;
};

Fd open_root() { return Fd(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)); }

}  // namespace

TEST_CASE("a message arrives with its descriptors, which are close-on-exec", "[jail]") {
  Pair pair;
  Fd root = open_root();
  REQUIRE(send_message(pair.a.get(), "12345", 5, {root.get()}));
  char data[5];
  auto received = receive_message(pair.b.get(), data, 5, 2);
  REQUIRE(received);
  CHECK(received->open);
  CHECK(std::string(data, 5) == "12345");
  REQUIRE(received->fds.size() == 1);
  CHECK(::fcntl(received->fds[0].get(), F_GETFD) == FD_CLOEXEC);
  struct stat sent {
  }, got{};
  REQUIRE(::fstat(root.get(), &sent) == 0);
  REQUIRE(::fstat(received->fds[0].get(), &got) == 0);
  CHECK(sent.st_ino == got.st_ino);
}

TEST_CASE("a message of another size, or with more descriptors than expected, is refused and leaks none", "[jail]") {
  Pair pair;
  size_t before = open_descriptors();
  char data[5];
  {
    Fd root = open_root();
    auto [text, fds] = GENERATE_REF(table<std::string, std::vector<int>>({
        {"1234", {}},
        {"123456", {}},
        {"1234", {root.get()}},
        {"12345", {root.get(), root.get(), root.get()}},
    }));
    REQUIRE(send_message(pair.a.get(), text.data(), text.size(), fds));
    auto received = receive_message(pair.b.get(), data, 5, 1);
    REQUIRE_FALSE(received);
    CHECK(received.error().code == Code::internal);
  }
  CHECK(open_descriptors() == before);
}

TEST_CASE("an empty queue is unavailable, a closed end is not open", "[jail]") {
  Pair pair;
  char data[1];
  auto empty = receive_message(pair.b.get(), data, 1, 1);
  REQUIRE_FALSE(empty);
  CHECK(empty.error().code == Code::unavailable);
  pair.a.reset();
  auto end = receive_message(pair.b.get(), data, 1, 1);
  REQUIRE(end);
  CHECK_FALSE(end->open);
}

TEST_CASE("a full queue is unavailable, and what was sent is whole", "[jail]") {
  Pair pair;
  std::string text(1000, 'x');
  size_t sent = 0;
  for (;; sent++) {
    auto done = send_message(pair.a.get(), text.data(), text.size(), {});
    if (done) continue;
    CHECK(done.error().code == Code::unavailable);
    break;
  }
  REQUIRE(sent > 0);
  std::string data(1000, '\0');
  for (size_t i = 0; i < sent; i++) REQUIRE(receive_message(pair.b.get(), data.data(), data.size(), 0));
  CHECK_FALSE(receive_message(pair.b.get(), data.data(), data.size(), 0));
}

TEST_CASE("more descriptors than any order has are not sent", "[jail]") {
  Pair pair;
  CHECK_FALSE(send_message(pair.a.get(), "1", 1, std::vector<int>(kMaxFdsOfMessage + 1, 0)));
}
