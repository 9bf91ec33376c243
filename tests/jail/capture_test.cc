#include "jail/talk/capture.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "tests/catch.h"
#include "tests/jail/await.h"

using jail::Capture;
using jail::CaptureLimits;

namespace {

struct Seen {
  std::string saved;
  int overflows = 0;
  std::vector<std::pair<uint64_t, std::string>> progress;
};

// Writes the parts one after the other, each only when the one before was taken.
class Drained {
 public:
  Drained(CaptureLimits limits, const std::vector<std::string>& parts, size_t keep_at_most = ~size_t{0})
      : capture_(
            limits,
            [this, keep_at_most](std::string_view part) {
              seen.saved += part;
              keep_calls++;
              return seen.saved.size() < keep_at_most;
            },
            [this] { seen.overflows++; },
            [this](uint64_t bytes, std::string_view line) { seen.progress.emplace_back(bytes, line); }) {
    int ends[2];
    REQUIRE(::pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
    Fd writer(ends[1]);
    auto pipe = AsyncFd::adopt(loop_, Fd(ends[0]));
    REQUIRE(pipe);
    bool done = false;
    LoopShares shares(loop_);
    const auto share = shares.of("");
    auto drain = [](Capture& capture, AsyncFd& from, LoopShare& reader, bool& end) -> Task<> {
      co_await capture.drain(from, reader);
      end = true;
    };
    Scope scope(loop_);
    scope.spawn(drain(capture_, *pipe, *share, done));
    uint64_t written = 0;
    for (const auto& part : parts) {
      REQUIRE(::write(writer.get(), part.data(), part.size()) == static_cast<ssize_t>(part.size()));
      written += part.size();
      REQUIRE(run_until(loop_, [&] { return capture_.bytes() == written; }));
    }
    writer.reset();
    REQUIRE(run_until(loop_, [&] { return done; }));
  }
  const Capture& operator*() const { return capture_; }
  const Capture* operator->() const { return &capture_; }
  Seen seen;
  int keep_calls = 0;

 private:
  Loop loop_;
  Capture capture_;
};

}  // namespace

TEST_CASE("output within the limit is told whole", "[jail]") {
  Drained out({20, 100}, {"one\ntwo\n", "three"});
  CHECK(out->text() == "one\ntwo\nthree");
  CHECK(out->bytes() == 13);
  CHECK(out->lines() == 2);
  CHECK_FALSE(out->truncated());
  CHECK(out.seen.saved == "one\ntwo\nthree");
  CHECK(out.seen.overflows == 0);
}

TEST_CASE("output at the limit is whole, one byte more is head, marker and tail", "[jail]") {
  Drained drained({10, 100}, {"0123456789"});
  CHECK(drained->text() == "0123456789");
  CHECK_FALSE(drained->truncated());
  Drained cut({10, 100}, {"0123456789A"});
  CHECK(cut->truncated());
  CHECK(cut->text() == "01234\n[... 1 bytes left out ...]\n6789A");
}

TEST_CASE("head and tail are the same however the output was written", "[jail]") {
  std::string all = "head-of-the-output " + std::string(1000, '.') + " the-tail-of-the-output";
  Drained at_once({30, 5000}, {all});
  std::vector<std::string> bytes;
  for (size_t i = 0; i < all.size(); i += 7) bytes.push_back(all.substr(i, 7));
  Drained in_parts({30, 5000}, bytes);
  CHECK(at_once->text() == in_parts->text());
  CHECK(at_once->text().starts_with("head-of-the-out\n[... 1012 bytes"));
  CHECK(at_once->text().ends_with("l-of-the-output"));
}

TEST_CASE("a cut never goes through a UTF-8 sequence, and the count says what is really missing", "[jail]") {
  std::string e = "\xC3\xA9";  // é
  Drained out({10, 100}, {"aaaa" + e + "bbbbbbbb" + e + "cccc"});
  CHECK(out->text() == "aaaa\n[... 12 bytes left out ...]\ncccc");
}

TEST_CASE("bytes that are not UTF-8 become replacement characters, never an invalid answer", "[jail]") {
  Drained out({20, 100}, {"a\xFF\xFE\xC3"});
  CHECK(out->text().starts_with("a\xEF\xBF\xBD"));
  CHECK(out->text().find('\xFF') == std::string::npos);
  CHECK(out->bytes() == 4);
}

TEST_CASE("the whole text is handed on up to its limit, and too much is said once", "[jail]") {
  Drained out({10, 12}, {"0123456789", "abcdef", "ghijkl", "mnopqr"});
  CHECK(out.seen.saved == "0123456789ab");
  CHECK(out.seen.overflows == 1);
  CHECK(out->bytes() == 28);  // drained to the end all the same
  Drained exactly({10, 12}, {"0123456789ab"});
  CHECK(exactly.seen.overflows == 0);
}

TEST_CASE("a keeper that can take no more is not asked again", "[jail]") {
  Drained out({10, 100}, {"0123", "4567", "89ab"}, 4);
  CHECK(out.keep_calls == 1);
  CHECK(out->bytes() == 12);
}

TEST_CASE("progress tells the bytes so far and a last whole line, shortened", "[jail]") {
  Drained out({10, 10'000}, {"first\nsecond\nthi", "rd", "\n" + std::string(500, 'x') + "\n"});
  REQUIRE(out.seen.progress.size() == 3);
  CHECK(out.seen.progress[0] == std::pair<uint64_t, std::string>(16, "second"));
  CHECK(out.seen.progress[1] == std::pair<uint64_t, std::string>(18, "second"));
  CHECK(out.seen.progress[2].second == std::string(200, 'x'));
}

TEST_CASE("progress tells a line whole that was written in parts", "[jail]") {
  Drained out({10, 10'000}, {"a\nspl", "it", " in three\n", "\n", "next\nlo", std::string(150, 'n'),
                             std::string(150, 'g'), "\nand", " on\n"});
  std::vector<std::string> lines;
  for (const auto& [bytes, line] : out.seen.progress) lines.push_back(line);
  std::string text = "lo" + std::string(150, 'n') + std::string(48, 'g');
  CHECK(lines == std::vector<std::string>{"a", "a", "split in three", "", "next", "next", "next", text, "and on"});
}

TEST_CASE("lines are counted in every kind of text", "[jail]") {
  for (std::string piece : {"\n", "\n\n\n\v\t", "x\n", "\x8a\n\x0b\x09", "seven..\n", "no end", "\xff\n\x80"}) {
    std::string text;
    for (int i = 0; i < 1000; i++) text += piece;
    CAPTURE(piece);
    Drained out({10, 100'000}, {text});
    CHECK(out->lines() == static_cast<uint64_t>(std::count(text.begin(), text.end(), '\n')));
  }
}

TEST_CASE("no output is no output", "[jail]") {
  Drained out({10, 100}, {});
  CHECK(out->text().empty());
  CHECK(out->bytes() == 0);
  CHECK_FALSE(out->truncated());
}

TEST_CASE("the end of a stream is told, over head and tail, and no more than was asked for", "[jail]") {
  Drained short_one({1000, 1000}, {"abc", "def"});
  CHECK(short_one->last(4) == "cdef");
  CHECK(short_one->last(100) == "abcdef");
  Drained long_one({8, 1000}, {"0123456789", "abcdef"});
  CHECK(long_one->last(2) == "ef");
  CHECK(long_one->last(100) == long_one->text().substr(long_one->text().size() - 4));
}

TEST_CASE("what is printed is not read while its owner has had its part of the loop", "[jail]") {
  static Monotonic::time_point time_now{std::chrono::hours(1)};
  Loop loop;
  LoopShares shares(loop, [] { return time_now; });
  const auto share = shares.of("heavy"), other = shares.of("other");
  auto charge = [](LoopShare& owner, std::chrono::milliseconds time) {
    const LoopShare::Use use(owner);
    time_now += time;
  };
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
  Fd writer(ends[1]);
  auto pipe = AsyncFd::adopt(loop, Fd(ends[0]));
  REQUIRE(pipe);
  Capture capture({1000, 1000}, {}, [] {}, {});
  charge(*share, std::chrono::milliseconds(25));
  charge(*other, std::chrono::milliseconds(1));
  REQUIRE(::write(writer.get(), "text", 4) == 4);
  const auto draining = start(capture.drain(*pipe, *share));
  for (int i = 0; i < 3; i++) {
    const auto turn = loop.turn();
    loop.defer([] {});
    loop.run_until([&] { return loop.turn() > turn; });
  }
  CHECK(capture.bytes() == 0);
  time_now += std::chrono::seconds(1);
  CHECK(run_until(loop, [&] { return capture.bytes() == 4; }));
}
