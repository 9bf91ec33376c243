// The journal's writer: what it has done when it goes, and what it tries again.
#include "supervisor/records/journal/writer.h"

#include <cerrno>
#include <latch>
#include <string>
#include <vector>

#include "supervisor/base/disk_faults.h"
#include "tests/catch.h"
#include "tests/jail/await.h"
#include "tests/temp_directory.h"

using namespace std::chrono_literals;
using journal::Database, journal::Writer;

namespace {

struct Home {
  Loop loop;
  TempDirectory temp;
  std::vector<std::string> done;  // the thread's, until the writer is gone
  std::unique_ptr<Writer> writer =
      Writer::start(loop, Database::open((temp.path() / "journal.db").string()).value(), journal::Durability::buffered)
          .value();

  Writer::Work note(std::string name) {
    return [this, name = std::move(name)](Database&) -> Result<> {
      done.push_back(name);
      return {};
    };
  }
  // False: not within ten seconds.
  bool wait_for(const Writer::Ticket& ticket) {
    bool is_late = false;
    const Deadline limit(loop, 10s, [&is_late] { is_late = true; });
    loop.run_until([&] { return is_late || Writer::is_done(ticket); });
    return !is_late;
  }
};

}  // namespace

TEST_CASE("a writer that goes does all that was queued, in its order", "[journal]") {
  Home home;
  std::latch started(1), may_end(1);
  home.writer->queue([&](Database&) -> Result<> {
    started.count_down();
    may_end.wait();
    return {};
  });
  started.wait();
  home.writer->queue(home.note("first"), Writer::When::soon);
  home.writer->queue(home.note("second"));
  home.writer->queue(home.note("third"), Writer::When::soon, Writer::Promise::acknowledged);
  may_end.count_down();  // what comes behind it is handed over by the loop only, which does not run
  home.writer.reset();
  CHECK(home.done == std::vector<std::string>{"first", "second", "third"});
}

TEST_CASE("what was promised and found the disk full is tried again, before what came later", "[journal]") {
  Home home;
  auto full_once = [&home, tries = 0](Database&) mutable -> Result<> {
    home.done.push_back("promised");
    if (++tries == 1) return fail(Code::exhausted, "the disk is full");
    return {};
  };
  const auto promised = home.writer->queue(full_once, Writer::When::now, Writer::Promise::acknowledged);
  const auto open = home.writer->queue(home.note("open"), Writer::When::soon);
  REQUIRE(home.wait_for(promised));
  CHECK(Writer::is_done(open));
  home.writer.reset();
  CHECK(home.done == std::vector<std::string>{"promised", "promised", "open"});

  Home alone;
  auto retry = [&alone, tries = 0](Database&) mutable -> Result<> {
    alone.done.push_back("promised");
    if (++tries == 1) return fail(Code::exhausted, "the disk is full");
    return {};
  };
  REQUIRE(alone.wait_for(alone.writer->queue(retry, Writer::When::now, Writer::Promise::acknowledged)));
  CHECK_FALSE(alone.writer->failing());
}

TEST_CASE("a commit that finds no space is done when there is some, and its callers do not notice", "[journal]") {
  Home home;
  bool is_full = true;
  int relieved = 0;
  home.writer->on_full([&]() -> Task<bool> {
    relieved++;
    is_full = false;  // the thread waits meanwhile
    co_return true;
  });
  const auto needs_space = [&](const char* name) {
    return [&home, &is_full, name](Database&) -> Result<> {
      home.done.push_back(name);
      if (!is_full) return {};
      disk_faults::note(ENOSPC);
      return fail(Code::exhausted, "the disk is full");
    };
  };
  SECTION("alone") {
    const auto work = home.writer->queue(needs_space("open"));
    REQUIRE(home.wait_for(work));
    CHECK(await(home.loop, Writer::committed(work)));
    CHECK(home.done == std::vector<std::string>{"open", "open"});
  }
  SECTION("acknowledged, in a group") {
    home.writer->queue(home.note("before"), Writer::When::soon);
    const auto work = home.writer->queue(needs_space("promised"), Writer::When::now, Writer::Promise::acknowledged);
    REQUIRE(home.wait_for(work));
    CHECK(await(home.loop, Writer::committed(work)));
    CHECK(home.done == std::vector<std::string>{"before", "promised", "before", "promised"});
  }
  CHECK(relieved == 1);
  CHECK_FALSE(home.writer->failing());
}

TEST_CASE("a commit for which no space can be found fails after a last try", "[journal]") {
  Home home;
  int relieved = 0;
  home.writer->on_full([&]() -> Task<bool> { co_return ++relieved == 1; });
  const auto full = [](Database&) -> Result<> {
    disk_faults::note(ENOSPC);
    return fail(Code::exhausted, "the disk is full");
  };
  const auto work = home.writer->queue(full);
  REQUIRE(home.wait_for(work));
  const auto result = await(home.loop, Writer::committed(work));
  REQUIRE_FALSE(result);
  CHECK(result.error().code == Code::exhausted);
  CHECK(relieved == 2);  // the second time, there was no more to give
}
