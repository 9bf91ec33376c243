// Outbox: lines leave whole and in order, of one part or of three, and a fast reader does not keep the loop.
#include "supervisor/protocol/mcp/outbox.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <atomic>
#include <thread>

#include "tests/catch.h"
#include "tests/jail/await.h"

namespace {

struct Wire {
  explicit Wire(Loop& loop) {
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    far = Fd(ends[1]);
    REQUIRE(::fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0);
    auto adopted = AsyncFd::adopt(loop, Fd(ends[0]));
    REQUIRE(adopted);
    near = *std::move(adopted);
  }
  AsyncFd near;
  Fd far;
};

// Reads on a thread of its own, as fast as it can, until it has so many bytes.
class Reader {
 public:
  Reader(int fd, size_t bytes)
      : thread_([this, fd, bytes] {
          std::string part(1 << 20, '\0');
          while (text.size() < bytes) {
            const ssize_t got = ::read(fd, part.data(), part.size());
            if (got <= 0) break;
            text.append(part, 0, static_cast<size_t>(got));
          }
          done = true;
        }) {}
  ~Reader() { thread_.join(); }
  std::string text;  // once it is done
  std::atomic<bool> done = false;

 private:
  std::thread thread_;
};

}  // namespace

TEST_CASE("a line in three parts goes between others as one line", "[mcp]") {
  Loop loop;
  Wire wire(loop);
  mcp::Outbox outbox(
      loop, wire.near, {}, [] {}, [] {});
  const auto large = std::make_shared<const std::string>(3 << 20, 'x');
  const auto small = std::make_shared<const std::string>("y");
  std::string expected;
  {
    const mcp::Outbox::Cork cork(outbox);
    for (int i = 0; i < 3; i++) {
      outbox.send("before " + std::to_string(i));
      outbox.send("{", large, "}");
      outbox.send("[", small, "]");
      expected += "before " + std::to_string(i) + "\n{" + *large + "}\n[y]\n";
    }
    CHECK(large.use_count() == 4);  // not copied
  }
  Reader reader(wire.far.get(), expected.size());
  REQUIRE(run_until(loop, [&] { return reader.done.load(); }));
  CHECK(reader.text == expected);
  CHECK(outbox.empty());
  CHECK(large.use_count() == 1);
}

TEST_CASE("what is written in one turn of the loop is bounded, however fast it is read", "[mcp]") {
  Loop loop;
  Wire wire(loop);
  mcp::Outbox outbox(
      loop, wire.near, {}, [] {}, [] {});
  constexpr size_t kBytes = 32 << 20;
  const int room = 64 << 20;  // the socket would take all of it at once
  if (::setsockopt(wire.near.get(), SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof room) != 0) {
    WARN("not tested: needs CAP_NET_ADMIN");
    return;
  }
  outbox.send(std::string(kBytes, 'x'));
  int written = 0;
  REQUIRE(::ioctl(wire.far.get(), FIONREAD, &written) == 0);
  CHECK(written > 0);
  CHECK(written <= 1 << 20);
  Reader reader(wire.far.get(), kBytes + 1);
  REQUIRE(run_until(loop, [&] { return reader.done.load(); }));
  CHECK(reader.text.size() == kBytes + 1);
}
