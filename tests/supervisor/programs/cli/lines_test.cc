#include "supervisor/programs/cli/lines.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "supervisor/base/fd.h"
#include "tests/catch.h"
#include "tests/supervisor/programs/cli/processes.h"

using namespace cli;

namespace {

struct Pipe {
  Fd read_end, write_end;
  Pipe() {
    int ends[2];
    REQUIRE(::pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
    read_end = Fd(ends[0]);
    write_end = Fd(ends[1]);
  }
};

std::string drain(int fd) {
  std::string all;
  char chunk[64 << 10];
  for (ssize_t got; (got = ::read(fd, chunk, sizeof chunk)) > 0;) all.append(chunk, static_cast<size_t>(got));
  return all;
}

}  // namespace

TEST_CASE("each read adds the bytes that are there, and the end is no error", "[lines]") {
  Pipe pipe;
  LineSplitter lines(kMaxLineBytes);
  cli_test::write_all(pipe.write_end.get(), "one\n\r\n \ntwo\r\nthr");
  CHECK(fill(lines, pipe.read_end.get()) == 16);
  CHECK(lines.next()->text == "one");
  CHECK(lines.next()->text == "two");
  CHECK_FALSE(lines.next());
  CHECK(fill(lines, pipe.read_end.get()) == -EAGAIN);
  pipe.write_end.reset();
  CHECK(fill(lines, pipe.read_end.get()) == 0);
  CHECK(lines.rest()->text == "thr");
  CHECK(lines.buffered().empty());
}

TEST_CASE("an outbox gives back the lines that did not leave whole", "[lines]") {
  Pipe pipe;
  const int size = ::fcntl(pipe.write_end.get(), F_SETPIPE_SZ, 4096);
  REQUIRE(size == 4096);
  LineOutbox out;
  const std::string first(3000, 'a'), second(3000, 'b'), third(10, 'c');
  out.add(first);
  out.add(second);
  out.add(third);
  CHECK(out.flush(pipe.write_end.get()) == LineOutbox::State::blocked);
  CHECK(out.take_unsent() == second + "\n" + third + "\n");
  CHECK(out.pending() == 0);
  CHECK(drain(pipe.read_end.get()).substr(0, 3001) == first + "\n");
}

TEST_CASE("an outbox sends everything in order and says when its reader is gone", "[lines]") {
  ::signal(SIGPIPE, SIG_IGN);
  Pipe pipe;
  LineOutbox out;
  std::string expected, got;
  for (int i = 0; i < 20000; i++) {
    const std::string line = std::to_string(i) + std::string(200, '.');
    out.add(line);
    expected += line + "\n";
  }
  while (out.flush(pipe.write_end.get()) == LineOutbox::State::blocked) got += drain(pipe.read_end.get());
  got += drain(pipe.read_end.get());
  CHECK((got == expected));
  CHECK(out.pending() == 0);
  pipe.read_end.reset();
  out.add("x");
  CHECK(out.flush(pipe.write_end.get()) == LineOutbox::State::broken);
  CHECK(errno == EPIPE);
}

TEST_CASE("a shared pipe is not made non-blocking for those it is shared with", "[lines]") {
  Pipe pipe;
  ::fcntl(pipe.write_end.get(), F_SETFL, 0);
  const Fd own(open_for_writing(pipe.write_end.get()));
  CHECK(own.get() != pipe.write_end.get());
  CHECK((::fcntl(own.get(), F_GETFL) & O_NONBLOCK) != 0);
  CHECK((::fcntl(pipe.write_end.get(), F_GETFL) & O_NONBLOCK) == 0);
  int pair[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
  Fd remaining(pair[0]), right(pair[1]);
  CHECK(open_for_writing(remaining.get()) == remaining.get());
  LineOutbox out;
  out.add(std::string(8 << 20, 'x'));
  CHECK(out.flush(remaining.get()) == LineOutbox::State::blocked);  // though the socket itself would block
}
