#include "supervisor/records/traces/exporter.h"

#include <sys/socket.h>
#include <sys/un.h>

#include "supervisor/base/clock.h"
#include "supervisor/base/fd.h"
#include "supervisor/base/log.h"
#include "supervisor/records/spans/open_span.h"
#include "tests/catch.h"
#include "tests/temp_directory.h"

using namespace traces;
using namespace std::chrono_literals;

namespace {

// Its kernel takes connections and what is sent on them; nobody ever answers.
class Silent {
 public:
  explicit Silent(const std::string& path) : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    REQUIRE(::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    REQUIRE(::listen(socket_.get(), 8) == 0);
  }

 private:
  Fd socket_;
};

struct Fixture {
  TempDirectory folder;
  Loop loop;
  std::string path = folder.path() / "collector.sock";
  std::unique_ptr<Exporter> exporter = std::make_unique<Exporter>(loop, *spans::parse_collector("unix://" + path));

  Fixture() { set_log_level(LogLevel::error); }
  ~Fixture() { set_log_level(LogLevel::info); }
  void add(size_t spans) {
    for (size_t i = 0; i < spans; i++) spans::OpenSpan span(&exporter->queue(), {}, spans::SpanKind::server, "work");
  }
  // How long that took.
  double finish(std::chrono::milliseconds limit) {
    const auto started = Monotonic::now();
    bool done = false;
    auto finished = [](Exporter& item, std::chrono::milliseconds max, bool& set) -> Task<> {
      co_await item.finish(max);
      set = true;
    };
    loop.spawn(finished(*exporter, limit, done));
    loop.run_until([&done] { return done; });
    return ms_since(started);
  }
  const spans::Queue::Counts& counts() const { return exporter->queue().counts; }
};

}  // namespace

TEST_CASE_METHOD(Fixture, "the end does not wait for a collector that hangs", "[traces]") {
  const Silent silent(path);
  add(700);
  CHECK(counts().dropped == 0);
  CHECK(finish(200ms) >= 190);
  CHECK(exporter->trouble().empty());  // the limit of finish() came before that of a request
  CHECK(counts().exported == 0);
  CHECK(counts().dropped == 700);
}

TEST_CASE_METHOD(Fixture, "the end does not wait for a collector that is not there", "[traces]") {
  add(700);
  CHECK(finish(10min) < 300'000);  // far below its limit
  CHECK(counts().dropped == 700);
  CHECK_FALSE(exporter->trouble().empty());
  add(3);  // too late
  CHECK(counts().dropped == 703);
  CHECK(exporter->queue().size() == 0);
}

TEST_CASE_METHOD(Fixture, "the end has nothing to wait for when there are no spans", "[traces]") {
  CHECK(finish(10min) < 300'000);  // far below its limit
  CHECK(counts().dropped == 0);
}

TEST_CASE_METHOD(Fixture, "an exporter may go while it is at work", "[traces]") {
  const Silent silent(path);
  add(Exporter::kBatch);
  SECTION("at once") {}
  SECTION("while a request is under way") {
    loop.run_until([this] { return exporter->queue().size() == 0; });
  }
  exporter.reset();
  SECTION("and its loop goes on") {
    bool turned = false;
    loop.defer([&turned] { turned = true; });
    loop.run_until([&turned] { return turned; });
    CHECK(turned);
  }
}

TEST_CASE_METHOD(Fixture, "spans that nobody takes do not fill the memory", "[traces]") {
  const Silent silent(path);
  add(Exporter::kBatch);
  loop.run_until([this] { return exporter->queue().size() == 0; });  // under way
  add(3 * spans::Queue::kMax);
  CHECK(exporter->queue().size() == spans::Queue::kMax);
  CHECK(counts().dropped == 2 * spans::Queue::kMax);
}
