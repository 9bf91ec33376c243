// What the journal keeps while tenants flood it, and whether its files are still its own.
#include <latch>

#include "tests/supervisor/records/journal/scene.h"

using namespace journal;
using namespace std::chrono_literals;

TEST_CASE("a tenant's flood of executions removes its own rows, not those of others", "[journal]") {
  Scene scene({.executions_kept = 100, .sweep_every = 10ms});
  auto run_as = [&](const std::string& tenant, int number) {
    auto execution = scene.begin(tenant + std::to_string(number), tenant);
    REQUIRE(await(scene.loop, scene.book->end(std::move(execution), Scene::ended_with("ok"))));
  };
  for (int i = 0; i < 20; i++) run_as("quiet", i);
  for (int i = 0; i < 1500; i++) run_as(i % 2 ? "loud/one" : "loud/two", i);
  Database database = scene.reader();
  auto rows_of = [&](const char* sql) { return database.number(sql).value_or(-1).value_or(0); };
  CHECK(run_until(scene.loop, [&] { return rows_of("SELECT count(*) FROM executions") == 100; }));
  CHECK(rows_of("SELECT count(*) FROM executions WHERE tenant='quiet'") == 20);
  CHECK(rows_of("SELECT executions FROM execution_shares WHERE account='loud'") == 80);
  CHECK(scene.statistics("quiet").totals.executions == 20);
  REQUIRE(scene.book->failing() == false);
}

TEST_CASE("a journal of an older version goes on: rows count for their tenants, the audit is one chain", "[journal]") {
  TempDirectory folder;
  {
    SchemaPart executions = executions_part(), audit = audit_part();
    executions.steps.resize(3);
    audit.steps.resize(1);
    auto opened = open_checked(folder.path() / "journal.db", {executions, audit, records_part()});
    REQUIRE(opened);
    for (int i = 0; i < 30; i++) {
      const std::string id = "e" + std::to_string(i);
      const std::string tenant = i < 3 ? "quiet" : "loud/w" + std::to_string(i % 2);
      auto insert = opened->database.prepare(
          "INSERT INTO executions(id, tenant, language, policy, started_ms, code_bytes) VALUES(?,?,'python','d',?,4)");
      REQUIRE(insert);
      REQUIRE(insert->bind(id).bind(tenant).bind(now_ms()).run());
      Ended ended = Scene::ended_with("ok");
      ended.id = id;
      if (i != 29) REQUIRE(write_ended(opened->database, ended));
    }
  }
  Loop loop;
  auto book = Journal::open(loop, folder.path(), {});
  REQUIRE(book);
  CHECK((*book)->set_aside() == "");
  CHECK((*book)->interrupted() == 1);
  uint64_t removed = 0;
  auto work = [&removed](Database& database) -> Result<> {
    TRY(removed, forget_executions(database, 10, 0, 1000));
    return append_audit(database, {1, "loud", 1, 1, "tools/call", "x", "{}"});
  };
  REQUIRE(await(loop, (*book)->run(work)));
  CHECK(removed == 20);
  auto database = Database::open(folder.path() / "journal.db", Database::Access::read_only);
  REQUIRE(database);
  CHECK(database->number("SELECT executions FROM execution_shares WHERE account='quiet'") == 3);
  CHECK(database->number("SELECT executions FROM execution_shares WHERE account='loud'") == 7);
  CHECK(database->number("SELECT executions FROM execution_sum") == 10);
  auto verdict = verify_audit(*database);
  REQUIRE(verdict);
  CHECK(verdict->problem == "");
  CHECK(verdict->entries == 1);
}

TEST_CASE("the audit is swept by time and by count, with no execution at all, and is bounded", "[journal]") {
  const bool by_time = GENERATE(true, false);
  Scene scene({.audit_kept = 100, .sweep_every = by_time ? 10ms : std::chrono::milliseconds(1h)});
  Database database = scene.reader();
  auto number = [&](const char* sql) { return database.number(sql).value_or(-1).value_or(0); };
  scene.book->audit({now_ms(), "quiet", 1, 1, "tools/call", "x", "{}"});
  auto shape = [](int i) { return "{\"a\":\"string(" + std::to_string(i) + ")\"}"; };
  constexpr int kCalls = 1'500;
  for (int i = 0; i < kCalls; i++) {
    scene.book->audit({now_ms(), "loud", 1, 1, "tools/call", "x", shape(i)});
    if (i % 100 == 0) static_cast<void>(scene.statistics());
  }
  auto swept = [&] { return number("SELECT count(*) FROM audit WHERE kind=0") == 70; };
  if (by_time) CHECK(run_until(scene.loop, swept));
  CHECK(run_until(scene.loop, [&] { return number("SELECT count(*) FROM audit WHERE kind=0") < 600; }));
  CHECK(number("SELECT count(*) FROM audit WHERE tenant='quiet'") == 1);
  scene.book.reset();
  scene.open();
  AuditVerdict verdict;
  auto verify = [&verdict](Database& file) -> Result<> {
    TRY(verdict, verify_audit(file));
    return {};
  };
  REQUIRE(await(scene.loop, scene.book->run(verify)));
  CHECK(verdict.problem.empty());
  CHECK(verdict.calls + verdict.forgotten.calls >= kCalls + 1);
}

TEST_CASE("while the disk stands still a tenant's flood does not fill the queue; what is left out is counted",
          "[journal]") {
  Scene scene;
  std::latch disk(1);
  auto reservation = [&disk](Database&) -> Result<> {
    disk.wait();
    return {};
  };
  auto reserved = start(scene.book->run(reservation));
  constexpr int kCalls = 50'000;
  for (int i = 0; i < kCalls; i++) scene.book->audit({now_ms(), "loud", 1, 1, "tools/call", "x", std::to_string(i)});
  scene.book->audit({now_ms(), "quiet", 1, 1, "tools/call", "x", "{}"});
  disk.count_down();
  REQUIRE(run_until(scene.loop, [&] { return reserved.done(); }));
  static_cast<void>(scene.statistics());
  scene.book->audit({now_ms(), "quiet", 1, 1, "tools/call", "y", "{}"});
  scene.book.reset();
  Database database = scene.reader();
  auto number = [&](const char* sql) { return database.number(sql).value_or(-1).value_or(0); };
  CHECK(number("SELECT count(*) FROM audit WHERE tenant='quiet'") == 2);
  CHECK(number("SELECT sum(count) FROM audit WHERE tenant='loud'") == kCalls);
  CHECK(number("SELECT count FROM audit WHERE action='left out'") == kCalls - static_cast<int>(kMaxWaitingEach));
}

TEST_CASE("a file that is removed or replaced under the journal is noticed, and told once", "[journal]") {
  const auto [name, replaced] = GENERATE(table<const char*, bool>(
      {{"journal.db", false}, {"journal.db", true}, {"journal.db-wal", false}, {"spool", true}, {"in-use", false}}));
  CAPTURE(name, replaced);
  Scene scene({.sweep_every = 10ms});
  std::vector<std::string> report;
  scene.book->on_trouble([&report](const std::string& trouble) { report.push_back(trouble); });
  scene.run("e1");
  const std::string database = scene.folder.path() / "journal.db";
  CHECK(trouble_of_daemon(database) == "");
  CHECK(scene.book->trouble() == "");
  const auto path = scene.folder.path() / name;
  const auto copy = scene.folder.path() / "copy";
  std::filesystem::copy_file(path, copy);
  if (replaced) {
    std::filesystem::rename(copy, path);  // at once: no sweep sees the name without a file
  } else {
    std::filesystem::remove(path);
  }
  REQUIRE(run_until(scene.loop, [&] { return !report.empty(); }));
  const std::string expected = path.string() + (replaced ? " was replaced" : " was removed");
  CHECK(report[0].starts_with(expected));
  CHECK(scene.book->trouble() == report[0]);
  if (std::string_view(name).starts_with("journal.db")) CHECK(trouble_of_daemon(database).starts_with(expected));
  scene.run("e2");
  static_cast<void>(run_until(
      scene.loop, [] { return false; }, 50ms));  // some sweeps later
  CHECK(report.size() == 1);
  scene.book.reset();
  CHECK(trouble_of_daemon(database) == "");  // no daemon uses it
}

TEST_CASE("a folder that a journal uses is not used by a second one", "[journal]") {
  Scene scene;
  Loop loop;
  auto second = Journal::open(loop, scene.folder.path(), {});
  REQUIRE_FALSE(second);
  CHECK(second.error().what.find("in use by another daemon") != std::string::npos);
}
