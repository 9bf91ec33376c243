// Looking back: pages, filters, prefixes and details, and that a page costs the same in a large journal as in a small
// one.
#include "supervisor/records/journal/history.h"

#include <fmt/format.h>

#include <set>

#include "supervisor/base/json/json_value.h"
#include "tests/supervisor/records/journal/scene.h"

using namespace journal;

namespace {

// `count` ended executions, one a second, of tenants t0 to t9 in turn; each tenth one is a timeout.
void fill(Database& database, int count) {
  REQUIRE(database.execute("BEGIN"));
  REQUIRE(database.execute(
      fmt::format(
          "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n WHERE i<{}) INSERT INTO executions(id, tenant, "
          "language, policy, started_ms, code_bytes, outcome, wall_us, took_us, cpu_us, memory_peak_bytes, uid) SELECT "
          "printf('e%016x', i*2654435761 & 0xffffffff), 't' || (i%10), iif(i%3, 'python', 'shell'), 'default', i*1000, "
          "4, "
          "iif(i%10=7, 'timeout', 'ok'), 1, 2, 3, 4, 1000+i%10 FROM n",
          count - 1)
          .c_str()));
  REQUIRE(database.execute("COMMIT"));
}

struct Filled {
  TempDirectory folder;
  Database database;
  explicit Filled(int count) : database(opened()) { fill(database, count); }
  Database opened() {
    auto created = Database::open(folder.path() / "journal.db");
    REQUIRE(created);
    REQUIRE(migrate(*created, {executions_part(), audit_part()}));
    return *std::move(created);
  }
};

HistoryPage page_of(Database& database, const HistoryFilter& filter, uint32_t limit) {
  auto page = read_history(database, filter, limit);
  REQUIRE(page);
  return *std::move(page);
}

// The begins of all executions that fit, in seconds, by pages.
std::vector<int64_t> all_of(Database& database, HistoryFilter filter, uint32_t limit) {
  std::vector<int64_t> begins;
  for (;;) {
    const HistoryPage page = page_of(database, filter, limit);
    for (const auto& row : page.rows) begins.push_back(row.numbers.started.at_ms / 1000);
    if (page.next.empty()) return begins;
    REQUIRE(page.next != filter.after);
    filter.after = page.next;
  }
}

int64_t steps_of_page(Database& database, const HistoryFilter& filter) {
  const int64_t before = database.steps();
  CHECK(page_of(database, filter, 1).rows.size() == 1);
  return database.steps() - before;
}

}  // namespace

TEST_CASE("history comes newest first, by pages that neither repeat nor leave out", "[journal]") {
  Filled filled(1'000);
  for (uint32_t limit : {1u, 7u, 999u, 1000u, 0u}) {
    const auto begins = all_of(filled.database, {}, limit);
    REQUIRE(begins.size() == 1'000);
    for (size_t i = 0; i < begins.size(); i++) REQUIRE(begins[i] == 999 - static_cast<int64_t>(i));
  }
  CHECK(page_of(filled.database, {}, 4'000'000'000).rows.size() == kHistoryRows);
}

TEST_CASE("executions of the same millisecond are divided between pages", "[journal]") {
  Filled filled(10);
  REQUIRE(filled.database.execute("UPDATE executions SET started_ms=5"));
  HistoryFilter filter;
  std::set<std::string> ids;
  for (int i = 0; i < 10; i++) {
    const HistoryPage page = page_of(filled.database, filter, 1);
    REQUIRE(page.rows.size() == 1);
    ids.insert(page.rows.front().numbers.started.id);
    filter.after = page.next;
  }
  CHECK(ids.size() == 10);
  CHECK(page_of(filled.database, filter, 1).rows.empty());
}

TEST_CASE("each filter of the history leaves only what fits", "[journal]") {
  Filled filled(100);
  REQUIRE(filled.database.execute("UPDATE executions SET outcome=NULL, wall_us=NULL WHERE started_ms=42000"));
  REQUIRE(filled.database.execute("UPDATE executions SET tenant='t3/reports' WHERE started_ms=43000"));
  const auto count = [&](const HistoryFilter& filter) { return all_of(filled.database, filter, 3).size(); };
  CHECK(count({.account = "t3"}) == 10);
  CHECK(count({.account = "t3/reports"}) == 0);
  CHECK(count({.account = "t"}) == 0);
  CHECK(count({.outcome = "timeout"}) == 10);
  CHECK(all_of(filled.database, {.outcome = "running"}, 3) == std::vector<int64_t>{42});
  CHECK(count({.language = "shell"}) == 34);
  CHECK(count({.uid = 1007}) == 10);
  CHECK(count({.account = "t7", .outcome = "timeout", .language = "python"}) == 7);
  CHECK(all_of(filled.database, {.since_ms = 97'000, .until_ms = 99'000}, 1) == std::vector<int64_t>{98, 97});
  CHECK(count({.since_ms = 1'000'000}) == 0);
}

TEST_CASE("a page costs as much with 10 rows as with 1,000 and 100,000", "[journal]") {
  const HistoryFilter filters[] = {{}, {.account = "t3"}, {.since_ms = 3'000}, {.account = "t3", .until_ms = 4'000}};
  std::vector<int64_t> few;
  for (int rows : {10, 1'000, 100'000}) {
    Filled filled(rows);
    for (size_t i = 0; i < std::size(filters); i++) {
      const int64_t steps = steps_of_page(filled.database, filters[i]);
      CHECK(steps > 0);
      if (rows == 10) few.push_back(steps);
      CHECK(steps <= few[i] + 20);
    }
  }
}

TEST_CASE("a page that finds nothing examines a bounded number of rows, and goes on from there", "[journal]") {
  Filled filled(25'000);
  HistoryFilter filter{.outcome = "memory"};
  int pages = 1;
  for (HistoryPage page = page_of(filled.database, filter, 10); !page.next.empty(); pages++) {
    CHECK(page.rows.empty());
    filter.after = page.next;
    page = page_of(filled.database, filter, 10);
  }
  CHECK(pages == 3);
}

TEST_CASE("a place of a page that nobody gave is refused", "[journal]") {
  Filled filled(10);
  for (const char* after : {"x", "1", "1:", ":1", "1:2:3", "1:2 ", "99999999999999999999:1"}) {
    const auto page = read_history(filled.database, {.after = after}, 1);
    REQUIRE_FALSE(page);
    CHECK(page.error().code == Code::invalid);
  }
}

TEST_CASE("an id is found by a prefix that no other id has, and only in the tenant's own rows", "[journal]") {
  Filled filled(2);
  REQUIRE(filled.database.execute("UPDATE executions SET id='e123a' WHERE tenant='t0'"));
  REQUIRE(filled.database.execute("UPDATE executions SET id='e123b' WHERE tenant='t1'"));
  const auto match = [&](const std::string& account, const std::string& prefix) -> std::string {
    auto story = read_story(filled.database, account, prefix);
    if (!story) return story.error().what;
    return *story ? (*story)->row.numbers.started.id : "none";
  };
  CHECK(match("", "e123b") == "e123b");
  CHECK(match("", "e123") == "several execution ids begin with 'e123': e123a, e123b");
  CHECK(match("t1", "e123") == "e123b");
  CHECK(match("t1", "e123a") == "none");
  CHECK(match("", "e99999") == "none");
  CHECK(match("", "e12") == "'e12' is too short for an execution id");
  for (const char* bad : {"", "E123A", "e123%", "e123'", "\xff\xff\xff\xff"}) CHECK(match("", bad) != "none");
  REQUIRE(
      filled.database.execute("INSERT INTO executions(id, tenant, language, policy, started_ms, code_bytes) "
                              "VALUES('e123', 't0', 'python', 'default', 1, 1)"));
  CHECK(match("", "e123") == "e123");
}

TEST_CASE("details come with their execution, and go with its row", "[journal]") {
  Scene scene;
  scene.run("e0001");
  const std::vector<std::string> paths = {"a\"b.txt", "c"};
  scene.book->add_details(
      "e0001", {"fork", std::string(5'000, 'm'), R"({"start":"fork"})", file_list({{"created", &paths, 3}})});
  scene.book->add_details("e0001", {"cold", "a second time", "{}", ""});
  scene.book->add_details("e9999", {"cold", "no such row", "{}", ""});
  auto story = await(scene.loop, scene.book->story("acme", "e000"));
  REQUIRE(story);
  REQUIRE(*story);
  const Json report = to_json(**story);
  CHECK(report.at("Files") == Json{{"created", {"a\"b.txt", "c"}}, {"omitted", 3}});
  CHECK(report.at("Start") == "fork");
  CHECK(report.at("Message").get<std::string>().size() == kDetailsMessageBytes);
  CHECK(report.at("Receipt") == R"({"start":"fork"})");
  scene.book->forget("acme");
  auto removed = await(scene.loop, scene.book->story("acme", "e000"));
  REQUIRE(removed);
  CHECK_FALSE(*removed);
  Database database = scene.reader();
  CHECK(database.number("SELECT count(*) FROM execution_details").value() == 0);
}

TEST_CASE("a list of files stays within its bound, and counts what it leaves out", "[journal]") {
  const std::vector<std::string> many(1'000, std::string(100, 'x')), long_one = {std::string(100'000, 'y'), "z"};
  const std::string list = file_list({{"created", &many, 0}, {"deleted", &long_one, 5}});
  CHECK(list.size() <= kDetailsFilesBytes);
  CHECK(list.find("\"omitted\":") != list.npos);
  CHECK(list.find("\"deleted\":[\"z\"]") != list.npos);
  const std::vector<std::string> none;
  CHECK(file_list({{"created", &none, 0}}).empty());
}

TEST_CASE("calls and approvals of an execution are found in the audit, and no others", "[journal]") {
  Scene scene;
  const std::string id = "e0123456789abcdef", other = "e1123456789abcdef";
  scene.run(id);
  const auto add = [&](const std::string& action, const std::string& execution, const std::string& tool) {
    scene.book->audit(
        {now_ms(), "acme", 1000, 1, action, tool, R"({"bytes":1,"execution":")" + execution + R"(","verdict":"ok"})"});
  };
  add("nested call", id, "mail.send");
  add("approval", id, "mail.send");
  add("nested call", other, "mail.send");
  scene.book->audit({now_ms(), "acme", 1000, 1, "nested call", "x", R"({"a":"\"execution\":\")" + id + R"("})"});
  auto story = await(scene.loop, scene.book->story("acme", id));
  REQUIRE(story);
  REQUIRE(*story);
  REQUIRE((*story)->entries.size() == 2);
  CHECK((*story)->entries[0].entry.action == "nested call");
  CHECK((*story)->entries[1].entry.action == "approval");
  for (int i = 0; i < 300; i++) add("nested call", id, "tool" + std::to_string(i));
  story = await(scene.loop, scene.book->story("acme", id));
  REQUIRE(story);
  CHECK((*story)->entries.size() == kStoryEntries);
  CHECK((*story)->has_more_entries);
}

TEST_CASE("the history sees what was answered, before it is committed", "[journal]") {
  Scene scene;
  for (int i = 0; i < 3; i++) {
    scene.run("e" + std::to_string(i));
    auto page = await(scene.loop, scene.book->history({}, 10));
    REQUIRE(page);
    REQUIRE(page->rows.size() == static_cast<size_t>(i) + 1);
    CHECK(page->rows.front().numbers.ended.outcome == "ok");
  }
}

TEST_CASE("the user of a client survives the spool, and is unknown in older lines", "[journal]") {
  const Record record{7, Finished{{"e1", "acme", "python", "default", 4, 5, 1000}, Scene::ended_with("ok")}};
  const auto read = from_line(to_line(record));
  REQUIRE(read);
  CHECK(std::get<Finished>(read->what).started.uid == 1000u);
  Record unknown = record;
  std::get<Finished>(unknown.what).started.uid.reset();
  const auto read_unknown = from_line(to_line(unknown));
  REQUIRE(read_unknown);
  CHECK_FALSE(std::get<Finished>(read_unknown->what).started.uid);
}

TEST_CASE("a tenant that was removed is forgotten with its workspaces, and no other tenant", "[journal]") {
  Scene scene;
  const std::string names[] = {"acme", "acme/reports", "acme2", "acm", "acme-x"};
  for (int i = 0; i < 700; i++) {
    const std::string& tenant = names[i % 5];
    REQUIRE(await(scene.loop,
                  scene.book->end(scene.begin("e" + std::to_string(1'000 + i), tenant), Scene::ended_with("ok"))));
  }
  auto before = await(scene.loop, scene.book->accounts());
  REQUIRE(before);
  CHECK(before->at("acme").executions == 280);
  CHECK(before->at("acme").last_ms.has_value());
  auto removed =
      await(scene.loop, scene.book->forget_account("acme", await(scene.loop, scene.book->last_row()).value()));
  REQUIRE(removed);
  CHECK(*removed == 280);
  auto after = await(scene.loop, scene.book->accounts());
  REQUIRE(after);
  CHECK_FALSE(after->contains("acme"));
  for (const char* other : {"acme2", "acm", "acme-x"}) CHECK(after->at(other).executions == 140);
  Database database = scene.reader();
  CHECK(database.number("SELECT count(*) FROM executions").value() == 420);
  CHECK(database.number("SELECT executions FROM execution_sum").value() == 420);
}

TEST_CASE("what began after a tenant's removal stays", "[journal]") {
  Scene scene;
  scene.run("e0001");
  const auto last_row = await(scene.loop, scene.book->last_row());
  REQUIRE(last_row);
  scene.run("e0002");
  auto removed = await(scene.loop, scene.book->forget_account("acme", *last_row));
  REQUIRE(removed);
  CHECK(*removed == 1);
  CHECK(scene.outcome_of("e0002") == "ok");
}

TEST_CASE("a removed tenant's executions of a clock that was ahead are removed, too", "[journal]") {
  Scene scene;
  scene.run("e0001");
  static_cast<void>(scene.statistics());  // committed
  auto database = Database::open(scene.folder.path() / "journal.db");
  REQUIRE(database);
  REQUIRE(database->execute("UPDATE executions SET started_ms = started_ms + 400 * 86400000"));
  auto removed =
      await(scene.loop, scene.book->forget_account("acme", await(scene.loop, scene.book->last_row()).value()));
  REQUIRE(removed);
  CHECK(*removed == 1);
}

TEST_CASE("a copy is whole and of one moment, while the journal is written", "[journal]") {
  Scene scene;
  for (int i = 0; i < 100; i++) scene.run("e" + std::to_string(i));
  static_cast<void>(scene.statistics());  // committed
  const std::string path = scene.folder.path() / "copy.db";
  {
    Database database = scene.reader();
    REQUIRE(database.copy_to(path));
    CHECK_FALSE(database.copy_to(path));  // never over another file
  }
  scene.run("later");
  auto copy = Database::open(path, Database::Access::read_only);
  REQUIRE(copy);
  CHECK(copy->number("SELECT count(*) FROM executions").value() == 100);
  CHECK(read_history(*copy, {}, 0)->rows.size() == 100);
  const auto verdict = verify_audit(*copy);
  REQUIRE(verdict);
  CHECK(verdict->problem.empty());
}

TEST_CASE("entries of a tenant are read by an index, in the order of the chain", "[journal]") {
  Scene scene;
  for (int i = 0; i < 300; i++)
    scene.book->audit({now_ms(), i % 100 == 7 ? "rare" : "often", 1000, 1, "tools/call", "t" + std::to_string(i), "{}",
                       i % 2 ? AuditKind::refusal : AuditKind::call});
  scene.run("e0001");
  static_cast<void>(scene.statistics());
  const auto subjects = [&scene](const AuditFilter& filter, EntryOrder order, size_t max, int64_t* steps) {
    Database database = scene.reader();
    std::vector<std::string> match;
    REQUIRE(each_entry(database, filter, order, [&](const ChainEntry& line) {
      match.push_back(line.entry.subject);
      return match.size() < max;
    }));
    if (steps != nullptr) *steps = database.steps();
    return match;
  };
  int64_t of_rare = 0, of_all = 0;
  CHECK(subjects({.account = "rare"}, EntryOrder::newest_first, 10, &of_rare) ==
        std::vector<std::string>{"t207", "t107", "t7"});
  CHECK(subjects({.account = "rare", .kind = AuditKind::refusal}, EntryOrder::oldest_first, 10, nullptr) ==
        std::vector<std::string>{"t7", "t107", "t207"});
  CHECK(subjects({.account = "rare", .kind = AuditKind::call}, EntryOrder::oldest_first, 10, nullptr).empty());
  CHECK(subjects({.kind = AuditKind::refusal}, EntryOrder::newest_first, 2, nullptr) ==
        std::vector<std::string>{"t299", "t297"});
  CHECK(subjects({.until_ms = 1}, EntryOrder::oldest_first, 1'000, &of_all).empty());
  CHECK(of_rare < of_all / 4);
  CHECK(subjects({.since_ms = now_ms() + 60'000}, EntryOrder::oldest_first, 1'000, nullptr).empty());
  CHECK(subjects({.after = 298}, EntryOrder::oldest_first, 1'000, nullptr) == std::vector<std::string>{"t298", "t299"});
}

TEST_CASE("a CPU time that is not known is not told as 0", "[journal]") {
  Filled filled(2);
  REQUIRE(filled.database.execute("UPDATE executions SET cpu_us=NULL WHERE number=2"));
  const HistoryPage page = page_of(filled.database, {}, 0);
  REQUIRE(page.rows.size() == 2);
  CHECK_FALSE(to_json(page.rows[0]).contains("CPUUSec"));
  CHECK(to_json(page.rows[0]).contains("WallUSec"));
  CHECK(to_json(page.rows[1])["CPUUSec"] == 3);
}
