// The age of rows and entries is elapsed time: wrong wall clocks remove no rows, and time that passes removes them. And
// heads of the chain that were stored elsewhere.
#include "supervisor/records/journal/audit_heads.h"
#include "supervisor/records/journal/clock_row.h"
#include "tests/supervisor/records/journal/chain.h"
#include "tests/supervisor/records/journal/scene.h"

using namespace journal;
using namespace std::chrono_literals;

namespace {

constexpr int64_t kDay = ElapsedClock::kDayMs;

// A journal on a machine with clocks that the test moves.
struct ClockScene {
  MachineClocks now = read_clocks();
  uint64_t looks = 0;
  Scene scene;
  int entries = 0;

  ClockScene() : scene(settings()) { now.is_synchronised = true; }
  Settings settings() {
    Settings settings;
    settings.sweep_every = 1ms;
    settings.clocks = [this] {
      looks++;
      return now;
    };
    return settings;
  }
  void restart() {
    scene.book.reset();
    scene.open(settings());
  }
  void pass(int64_t ms) { now.wall_ms += ms, now.boot_ms += ms; }
  // Whole sweeps end.
  void sweep() {
    const uint64_t until = looks + 3;
    REQUIRE(run_until(scene.loop, [&] { return looks >= until; }));
  }
  void record(const std::string& id) {
    auto execution = scene.book->begin({id, "acme", "python", "default", 4, now.wall_ms});
    REQUIRE(await(scene.loop, scene.book->end(std::move(execution), Scene::ended_with("ok"))));
    AuditEntry entry{now.wall_ms, "acme", 1, 1, "tools/call", id, "{}"};
    REQUIRE(await(scene.loop, scene.book->audit_first(std::move(entry))));
  }
  int64_t number(const char* sql) {
    Database database = scene.reader();
    return database.number(sql).value_or(-1).value_or(-1);
  }
  int64_t executions() { return number("SELECT count(*) FROM executions"); }
  int64_t calls() { return number("SELECT count(*) FROM audit WHERE kind=0"); }
};

}  // namespace

TEST_CASE("a start or a sweep with a wrong clock removes no row and no entry", "[journal][clock]") {
  const int64_t jump = GENERATE(400 * kDay, -400 * kDay);
  const bool is_at_start = GENERATE(true, false);
  ClockScene machine;
  machine.record("e1");
  machine.now.wall_ms += jump;
  std::vector<int64_t> report;
  machine.scene.book->on_clock([&report](int64_t jump_ms) { report.push_back(jump_ms); });
  if (is_at_start) machine.restart();
  machine.sweep();
  CHECK(machine.scene.book->clock_jump_ms() == jump);
  CHECK(machine.executions() == 1);
  CHECK(machine.calls() == 1);
  machine.record("e2");  // with a wrong time
  machine.now.wall_ms -= jump;
  machine.sweep();
  CHECK(machine.scene.book->clock_jump_ms() == 0);
  CHECK(machine.executions() == 2);
  CHECK(machine.calls() == 2);
  if (!is_at_start) CHECK(report == std::vector<int64_t>{jump, 0});
  machine.restart();
  machine.sweep();
  CHECK(machine.executions() == 2);
  CHECK(machine.calls() == 2);
}

TEST_CASE("rows and entries go when the time has passed, whatever time their records have", "[journal][clock]") {
  const int64_t wrong = GENERATE(0, 400 * kDay, -400 * kDay);
  ClockScene machine;
  machine.now.wall_ms += wrong;
  machine.record("e1");
  machine.now.wall_ms -= wrong;
  for (int day = 0; day < 89; day++) {
    machine.pass(kDay);
    machine.scene.book->clock_jump_ms();
  }
  machine.sweep();
  machine.record("e2");
  CHECK(machine.executions() == 2);
  CHECK(machine.calls() == 2);
  machine.pass(2 * kDay);
  REQUIRE(run_until(machine.scene.loop, [&] { return machine.executions() == 1 && machine.calls() == 1; }));
  Database database = machine.scene.reader();
  const auto verdict = verify_audit(database);
  REQUIRE(verdict);
  CHECK(verdict->problem.empty());
  CHECK(verdict->forgotten.calls == 1);
}

TEST_CASE("limits of size hold while the clock is wrong", "[journal][clock]") {
  ClockScene machine;
  machine.now.wall_ms += 400 * kDay;
  Settings settings = machine.settings();
  settings.executions_kept = 100;
  machine.scene.book.reset();
  machine.scene.open(settings);
  for (int i = 0; i < 150; i++) machine.record("e" + std::to_string(i));
  CHECK(run_until(machine.scene.loop, [&] { return machine.executions() == 100; }));
  CHECK(machine.scene.book->clock_jump_ms() == 400 * kDay);
}

TEST_CASE("an idle journal writes its clock seldom", "[journal][clock]") {
  ClockScene machine;
  machine.sweep();
  const auto stored = [&] { return machine.number("SELECT retention_ms FROM elapsed_clock"); };
  const int64_t before = stored();
  machine.pass(60'000);
  machine.sweep();
  CHECK(stored() == before);
  machine.pass(600'000);
  CHECK(run_until(machine.scene.loop, [&] { return stored() == before + 660'000; }));
}

TEST_CASE("rows of an older version have the age of their own times", "[journal][clock]") {
  ClockScene machine;
  machine.record("e1");
  machine.record("e2");
  auto make_old = [&](Database& database) -> Result<> {
    CHECKED(database.execute("UPDATE executions SET recorded_ms=0"));
    CHECKED(database.execute("UPDATE executions SET started_ms=started_ms-91*86400000 WHERE id='e1'"));
    return database.execute("DELETE FROM elapsed_clock");
  };
  REQUIRE(await(machine.scene.loop, machine.scene.book->run(make_old)));
  machine.sweep();
  CHECK(machine.executions() == 1);
}

TEST_CASE("a stored head is in the chain, forgotten, missing or changed", "[journal][audit]") {
  Chain chain;
  std::vector<AuditHead> heads;
  const auto note = [&] {
    auto head = read_head(chain.database);
    REQUIRE(head);
    heads.push_back(*head);
  };
  const auto standing = [&](const AuditHead& head) {
    const auto found = find_head(chain.database, head);
    REQUIRE(found);
    return *found;
  };
  note();  // of an empty chain
  for (int i = 0; i < 20; i++) {
    chain.add("tool-" + std::to_string(i));
    note();
  }
  for (const AuditHead& head : heads) CHECK(standing(head) == HeadStanding::in_chain);
  CHECK(standing({21, heads[20].hash}) == HeadStanding::missing);
  CHECK(standing({20, heads[19].hash}) == HeadStanding::changed);
  REQUIRE(chain.forget(1000, 10, 1 << 30, chain.clock_ms + 1) == 10);
  CHECK(chain.verdict().problem.empty());
  CHECK(standing(heads[10]) == HeadStanding::in_chain);  // a gap has the hash of its last entry
  CHECK(standing({10, heads[9].hash}) == HeadStanding::changed);
  CHECK(standing(heads[5]) == HeadStanding::forgotten);
  CHECK(standing(heads[15]) == HeadStanding::in_chain);
}

TEST_CASE("heads are read from log lines, entries of journald and the command's own output", "[journal][audit]") {
  const AuditHead head{12, std::string(60, 'a') + "0123"};
  CHECK(parse_head(head_text(head)) == head);
  CHECK(parse_head("Nov 29 19:00:00 vm warderd[1]: " + head_text(head) + "\r") == head);
  CHECK(parse_head(R"({"WARDER_AUDIT_COUNT":"12","WARDER_AUDIT_HEAD":")" + head.hash + R"(","PRIORITY":"5"})") == head);
  CHECK(parse_head(R"({"file":"/x","count":12,"head":")" + head.hash + "\"}") == head);
  CHECK_FALSE(parse_head(R"({"MESSAGE":")" + head_text(head) + "\"}"));  // an agent may have written it
  CHECK_FALSE(parse_head("audit chain: 12 entries, head abc"));
  CHECK_FALSE(parse_head("audit chain: -1 entries, head " + head.hash));
  CHECK_FALSE(parse_head("audit chain: x entries, head " + head.hash));
  CHECK_FALSE(parse_head(R"({"count":12.5,"head":")" + head.hash + "\"}"));
  CHECK_FALSE(parse_head("{"));
  CHECK_FALSE(parse_head(""));
}
