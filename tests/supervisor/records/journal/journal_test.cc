// The journal as the daemon uses it: rows before answers, one commit for many, the loop never waiting.
#include "supervisor/records/journal/journal.h"

#include <sys/resource.h>

#include <csignal>
#include <fstream>
#include <latch>

#include "supervisor/base/clock.h"
#include "supervisor/records/journal/record.h"
#include "tests/catch.h"
#include "tests/jail/await.h"
#include "tests/supervisor/records/journal/scene.h"

using namespace journal;
using namespace std::chrono_literals;

namespace {

Task<> end_it(Journal& book, Journal::Execution execution, Ended ended, int& answered) {
  auto written = co_await book.end(std::move(execution), std::move(ended));
  if (written) answered++;
}

}  // namespace

TEST_CASE("what is answered durably is in the file, seen by another process's eyes", "[journal]") {
  Scene scene({.durability = Durability::durable});
  for (int i = 0; i < 20; i++) {
    const std::string id = "e" + std::to_string(i);
    scene.run(id, i % 2 ? "ok" : "timeout");
    CHECK(scene.outcome_of(id) == (i % 2 ? "ok" : "timeout"));
  }
  CHECK(scene.outcome_of("e20") == "no row");
}

TEST_CASE("what is answered is there after the next start, though nothing was committed", "[journal]") {
  Scene scene;
  scene.run("first");
  static_cast<void>(scene.statistics());  // committed
  std::latch disk(1);
  auto reservation = [&disk](Database&) -> Result<> {
    disk.wait();
    return {};
  };
  auto reserved = start(scene.book->run(reservation));
  for (int i = 0; i < 50; i++) {
    scene.book->audit({now_ms(), "acme", 1000, 1, "tools/call", "execute_code", "{}"});
    scene.run("e" + std::to_string(i), i % 2 ? "ok" : "timeout");
  }
  auto running = scene.begin("running");
  CHECK(scene.outcome_of("e0") == "no row");
  TempDirectory other;  // as a killed daemon leaves it
  for (const char* name : {"journal.db", "journal.db-wal", "spool"})
    std::filesystem::copy_file(scene.folder.path() / name, other.path() / name);
  std::ofstream(other.path() / "spool", std::ios::app) << R"({"n":999,"begun":[)";  // it was killed here
  for (int start = 0; start < 2; start++) {
    std::filesystem::copy_file(scene.folder.path() / "spool", other.path() / "spool",
                               std::filesystem::copy_options::overwrite_existing);  // read again: nothing is done twice
    Loop loop;
    auto after = Journal::open(loop, other.path(), {});
    REQUIRE(after);
    auto match = await(loop, (*after)->statistics("acme"));
    REQUIRE(match);
    CHECK(match->totals.outcomes == std::map<std::string, uint64_t>{{"ok", 26}, {"timeout", 25}});
    AuditVerdict verdict;
    auto verify = [&verdict](Database& database) -> Result<> {
      TRY(verdict, verify_audit(database));
      return {};
    };
    REQUIRE(await(loop, (*after)->run(verify)));
    CHECK(verdict.problem.empty());
    CHECK(verdict.calls + verdict.unsealed == 50);
  }
  disk.count_down();
  REQUIRE(run_until(scene.loop, [&] { return reserved.done(); }));
  REQUIRE(await(scene.loop, scene.book->end(std::move(running), Scene::ended_with("ok"))));
  CHECK(scene.statistics().totals.executions == 52);
}

TEST_CASE("a spool that is full makes answers wait for commits, and is emptied by them", "[journal]") {
  Scene scene;
  std::latch disk(1);
  auto reservation = [&disk](Database&) -> Result<> {
    disk.wait();
    return {};
  };
  auto reserved = start(scene.book->run(reservation));
  int answered = 0, requested = 0;
  const auto spool = scene.folder.path() / "spool";
  {
    Scope scope(scene.loop);
    for (; answered == requested && requested < 100'000; requested++)
      scope.spawn(end_it(*scene.book, scene.begin("e" + std::to_string(requested)), Scene::ended_with("ok"), answered));
    CHECK(requested > 5'000);
    CHECK(requested < 100'000);
    CHECK(std::filesystem::file_size(spool) <= kSpoolBytes);
    disk.count_down();
    REQUIRE(run_until(scene.loop, [&] { return answered == requested && reserved.done(); }));
  }
  scene.run("next");
  CHECK(std::filesystem::file_size(spool) < 1000);
  CHECK(scene.statistics().totals.executions == static_cast<uint64_t>(requested) + 1);
}

TEST_CASE("many at once share a commit", "[journal]") {
  Scene scene;
  const uint64_t before = scene.book->commits();
  int answered = 0;
  {
    Scope scope(scene.loop);
    for (int i = 0; i < 500; i++)
      scope.spawn(end_it(*scene.book, scene.begin("e" + std::to_string(i)), Scene::ended_with("ok"), answered));
    REQUIRE(run_until(scene.loop, [&] { return answered == 500; }));
  }
  CHECK(scene.statistics().totals.executions == 500);
  CHECK(scene.book->commits() - before < 250);  // of 1,000 pieces of work
}

TEST_CASE("a request that is cancelled leaves a row that says so", "[journal]") {
  Scene scene;
  {
    auto execution = scene.begin("e1");
    auto moved = std::move(execution);
  }
  CHECK(scene.statistics().totals.outcomes.at("cancelled") == 1);
  CHECK(scene.outcome_of("e1") == "cancelled");
}

TEST_CASE("who ran when the daemon ended without a word is interrupted at the next start", "[journal]") {
  Scene scene;
  scene.run("done");
  {
    TempDirectory other;  // as a crash leaves it: copied while the daemon lives
    auto running = scene.begin("lost");
    REQUIRE(await(scene.loop, scene.book->started(running)));
    CHECK(scene.outcome_of("lost") == "running");
    CHECK(scene.statistics().running == 1);
    for (const char* name : {"journal.db", "journal.db-wal"})
      std::filesystem::copy_file(scene.folder.path() / name, other.path() / name);
    Loop loop;
    auto after = Journal::open(loop, other.path(), {});
    REQUIRE(after);
    CHECK((*after)->interrupted() == 1);
    CHECK((*after)->set_aside().empty());
    auto match = await(loop, (*after)->statistics("acme"));
    REQUIRE(match);
    CHECK(match->running == 0);
    CHECK(match->totals.outcomes == std::map<std::string, uint64_t>{{"interrupted", 1}, {"ok", 1}});
    CHECK(match->wall_times.count == 1);
  }
}

TEST_CASE("a daemon that ends in order writes down all that was queued", "[journal]") {
  Scene scene;
  for (int i = 0; i < 300; i++) static_cast<void>(scene.begin("e" + std::to_string(i)));
  scene.book.reset();
  scene.open();
  CHECK(scene.book->interrupted() == 0);
  CHECK(scene.statistics().totals.outcomes.at("cancelled") == 300);
  CHECK(scene.book->since_start("acme").executions == 0);
}

TEST_CASE("an id is used once; the answer of a second one is refused and the first stays", "[journal]") {
  Scene scene({.durability = Durability::durable});
  scene.run("twin", "ok");
  auto second = await(scene.loop, scene.book->end(scene.begin("twin"), Scene::ended_with("error")));
  CHECK_FALSE(second);
  CHECK(scene.outcome_of("twin") == "ok");
  CHECK_FALSE(scene.book->failing());
  scene.run("next");  // in the same group or the next: the good ones are kept
}

TEST_CASE("statistics count by outcome and language, and by quantiles of the newest", "[journal]") {
  Scene scene;
  for (int i = 1; i <= 100; i++) scene.run("e" + std::to_string(i), i <= 90 ? "ok" : "timeout", i * 1000);
  static_cast<void>(scene.begin("other", "somebody else"));
  const ExecutionStatistics statistics = scene.statistics();
  CHECK(statistics.totals.executions == 100);
  CHECK(statistics.totals.outcomes == std::map<std::string, uint64_t>{{"ok", 90}, {"timeout", 10}});
  CHECK(statistics.totals.languages == std::map<std::string, uint64_t>{{"python", 100}});
  CHECK(statistics.wall_times.count == 100);
  CHECK(statistics.wall_times.p50_us == 50'000);
  CHECK(statistics.wall_times.p90_us == 90'000);
  CHECK(statistics.wall_times.p99_us == 99'000);
  CHECK(statistics.wall_times.max_us == 100'000);
  CHECK(statistics.answer_times.p50_us == 100'000);
  CHECK(scene.statistics("nobody").totals.executions == 0);
  CHECK(scene.statistics("nobody").wall_times.count == 0);
}

TEST_CASE("the ledger counts bytes; what was kept out is never more than what was there", "[journal]") {
  Ledger quiet{100, 20, 0, 0};
  CHECK(quiet.withheld_bytes() == 0);
  Ledger loud{1000, 5'000'000, 200'000, 7'000};
  CHECK(loud.withheld_bytes() == 5'199'000);
  Scene scene;
  scene.run("quiet", "ok", 1000, quiet);
  scene.run("loud", "ok", 1000, loud);
  const Totals all = scene.statistics().totals;
  CHECK(all.ledger.returned_bytes == 1100);
  CHECK(all.ledger.printed_bytes == 5'000'020);
  CHECK(all.ledger.fetched_bytes == 200'000);
  CHECK(all.withheld_bytes == 5'199'000);  // by execution: a quiet one takes nothing from a loud one
  CHECK(all.ledger.definitions_avoided_bytes == 7'000);
  CHECK(scene.book->since_start("acme").withheld_bytes == 5'199'000);
  scene.run("reader", "ok", 1000, Ledger{100, 0, 0, 0, 4'000'000});
  CHECK(scene.statistics().totals.ledger.read_bytes == 4'000'000);
  CHECK(scene.statistics().totals.withheld_bytes == 5'199'000 + 3'999'900);
  CHECK(scene.book->since_start("acme").withheld_bytes == 5'199'000 + 3'999'900);
}

TEST_CASE("tokens are kept beside bytes, and no more are claimed than were kept out", "[journal]") {
  Ledger loud{1000, 50'000, 20'000, 7'000, 30'000, 300, 15'000, 6'000, 2'000, 9'000};
  CHECK(loud.withheld_tokens() == 30'000 / 10 * 9 - 300);
  CHECK(Ledger{1000, 50'000, 0, 0, 0, 300, 200}.withheld_tokens() == 0);
  CHECK(Ledger{1000, 50, 0, 0, 0, 10, 200}.withheld_tokens() == 0);  // no bytes, no tokens
  Scene scene;
  scene.run("loud", "ok", 1000, loud);
  const Totals all = scene.statistics().totals;
  CHECK(all.ledger.returned_tokens == 300);
  CHECK(all.ledger.read_tokens == 9'000);
  CHECK(all.ledger.definitions_avoided_tokens == 2'000);
  CHECK(all.withheld_tokens == loud.withheld_tokens());
  CHECK(scene.book->since_start("acme").withheld_tokens == loud.withheld_tokens());
}

TEST_CASE("a line of a spool that an older daemon wrote still counts", "[journal]") {
  Ended ended = Scene::ended_with("ok", 1000, Ledger{1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  ended.id = "e1";
  std::string line = to_line({7, Finished{{"e1", "acme", "python", "default", 4, 1}, ended}});
  constexpr std::string_view kTokens = ",6,7,8,9,10]";
  REQUIRE(line.find(",4,5,6,7,8,9,10]") != std::string::npos);
  CHECK(std::get<Finished>(from_line(line)->what).ended.ledger.read_tokens == 10);
  line.replace(line.find(kTokens), kTokens.size(), "]");
  CHECK(std::get<Finished>(from_line(line)->what).ended.ledger.returned_tokens == 0);
  CHECK(std::get<Finished>(from_line(line)->what).ended.ledger.read_bytes == 5);
  line.replace(line.find(",4,5]"), 5, ",4]");
  auto older = from_line(line);
  REQUIRE(older);
  CHECK(std::get<Finished>(older->what).ended.ledger.definitions_avoided_bytes == 4);
  CHECK(std::get<Finished>(older->what).ended.ledger.read_bytes == 0);
  line.replace(line.find(",4]"), 3, "]");
  CHECK_FALSE(from_line(line));
}

TEST_CASE("rows beyond the limits go, totals and running executions stay", "[journal]") {
  Scene scene;
  auto running = scene.begin("running");
  for (int i = 0; i < 30; i++) scene.run("e" + std::to_string(i));
  auto forget = [&](uint64_t max, int64_t oldest, uint64_t at_once) {
    auto removed = std::make_shared<uint64_t>(0);
    auto work = [=](Database& database) -> Result<> {
      TRY(*removed, forget_executions(database, max, oldest, at_once));
      return {};
    };
    REQUIRE(await(scene.loop, scene.book->run(work)));
    return *removed;
  };
  CHECK(forget(1000, 0, 1000) == 0);
  CHECK(forget(10, 0, 5) == 5);
  CHECK(forget(10, 0, 1000) == 16);  // nine and the one that runs stay
  CHECK(scene.outcome_of("e20") == "no row");
  CHECK(scene.outcome_of("e21") == "ok");
  CHECK(forget(1000, now_ms() + 1000, 1000) == 9);
  CHECK(scene.outcome_of("running") == "running");
  CHECK(scene.statistics().totals.executions == 30);
  REQUIRE(await(scene.loop, scene.book->end(std::move(running), Scene::ended_with("ok"))));
}

TEST_CASE("the loop goes on while the disk does not", "[journal]") {
  Scene scene({.durability = Durability::durable});
  std::latch disk(1);
  auto reservation = [&disk](Database&) -> Result<> {
    disk.wait();
    return {};
  };
  auto reserved = start(scene.book->run(reservation));
  auto execution = scene.begin("e1");
  scene.book->audit({now_ms(), "acme", 1, 1, "tools/call", "x", "{}"});
  auto ended = start(scene.book->end(std::move(execution), Scene::ended_with("ok")));
  for (int turn = 0; turn < 100; turn++) uv_run(scene.loop.uv(), UV_RUN_NOWAIT);  // comes back each time
  CHECK_FALSE(reserved.done());
  CHECK_FALSE(ended.done());
  disk.count_down();
  REQUIRE(run_until(scene.loop, [&] { return reserved.done() && ended.done(); }));
  CHECK(scene.outcome_of("e1") == "ok");
}

TEST_CASE("work that fails or throws is taken back alone", "[journal]") {
  Scene scene;
  auto half = [](Database& database) -> Result<> {
    CHECKED(database.execute("UPDATE executions SET outcome='spoilt'"));
    return fail(Code::invalid, "changed my mind");
  };
  auto throws = [](Database&) -> Result<> { throw std::runtime_error("a bug"); };
  auto first = start(scene.book->run(half));
  auto second = start(scene.book->run(throws));
  scene.run("e1");
  CHECK(scene.statistics().totals.executions == 1);
  CHECK(scene.outcome_of("e1") == "ok");
  REQUIRE(run_until(scene.loop, [&] { return first.done() && second.done(); }));
}

TEST_CASE("a disk that is full refuses answers, and what was answered before is kept until it is not", "[journal]") {
  Scene scene;
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit unlimited;
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &unlimited) == 0);
  rlimit full = unlimited;
  full.rlim_cur = 100'000;  // the log that is written ahead reaches it first
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &full) == 0);
  Result<> refused;
  uint64_t answered = 0;
  for (int i = 0; i < 5000 && refused; i++) {
    refused = await(scene.loop, scene.book->end(scene.begin("full" + std::to_string(i)), Scene::ended_with("ok")));
    if (refused) answered++;
  }
  CHECK_FALSE(refused);
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &unlimited) == 0);
  REQUIRE_FALSE(refused);
  CHECK((refused.error().code == Code::exhausted || refused.error().code == Code::unavailable));
  CHECK(answered > 0);
  scene.run("again");
  CHECK(scene.statistics().totals.executions == answered + 1);
  CHECK_FALSE(scene.book->failing());
  CHECK(scene.outcome_of("full0") == "ok");
}
