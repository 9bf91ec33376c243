// The facts of an execution: their names stand in the schema and the D-Bus interface, which have texts of their own,
// and every number comes back from the table and the spool.
#include "supervisor/records/journal/execution_facts.h"

#include <fstream>
#include <set>
#include <sstream>

#include "supervisor/base/json/json_value.h"
#include "supervisor/records/journal/history.h"
#include "supervisor/records/journal/record.h"
#include "tests/catch.h"
#include "tests/temp_directory.h"

namespace journal {
namespace {

std::set<std::string> columns_of_table(Database& database, const char* names) {
  std::set<std::string> columns;
  auto rows = database.prepare(names);
  REQUIRE(rows);
  while (rows->step().value()) columns.insert(rows->text(0));
  return columns;
}

// Every number differs from all others.
Finished finished() {
  Finished finished;
  finished.started = {"e1-abcd", "acme", "python", "default", 4, 1000, 7, ""};
  finished.ended.outcome = "ok";
  int number = 20;
  for_each_fact(finished.ended, [&](const ExecutionFact&, auto& value) {
    value = static_cast<std::decay_t<decltype(value)>>(number++);
  });
  finished.ended.id = finished.started.id;
  return finished;
}

template <class Value>
std::string numbers_of(const Value& value) {
  std::ostringstream text;
  for_each_fact(value,
                [&](const ExecutionFact& fact, const auto& number) { text << fact.column << ' ' << +number << '\n'; });
  return text.str();
}

struct Tables {
  TempDirectory folder;
  Database database = *Database::open(folder.path() / "journal.db");
  Tables() { REQUIRE(migrate(database, {executions_part(), audit_part()})); }
};

TEST_CASE("each fact of an execution is a column, and each sum is one of the totals", "[journal]") {
  Tables tables;
  const auto executions = columns_of_table(tables.database, "SELECT name FROM pragma_table_info('executions')");
  const auto totals = columns_of_table(tables.database, "SELECT name FROM pragma_table_info('totals')");
  const auto check = [&executions](const ExecutionFact& fact, const auto&) {
    INFO(fact.column);
    CHECK(executions.contains(std::string(fact.column)));
  };
  for_each_fact(StartedRow(), check);
  for_each_fact(Ended(), check);
  for_each_ledger_fact([&totals](const ExecutionFact& fact, uint64_t Ledger::*) {
    INFO(fact.column);
    CHECK((fact.totalled != Totalled::no) == totals.contains(std::string(fact.column)));
  });
}

TEST_CASE("each fact that D-Bus shows is named in the interface and is in the answer", "[journal]") {
  std::ifstream file(MANAGER_XML);
  std::ostringstream interface;
  interface << file.rdbuf();
  const Finished all = finished();
  const Json row = to_json(HistoryRow{{all.started, all.ended}, true});
  ExecutionStory story;
  story.row = {{all.started, all.ended}, true};
  const Json record = to_json(story);
  for_each_fact(all.ended, [&](const ExecutionFact& fact, auto value) {
    INFO(fact.column);
    if (!fact.bus_member.empty()) {
      CHECK(interface.str().find(" " + std::string(fact.bus_member)) != std::string::npos);
      CHECK(row.at(std::string(fact.bus_member)) == static_cast<uint64_t>(value));
    }
    CHECK(record.at("Ledger").contains(std::string(fact.column)) == (fact.totalled == Totalled::yes_and_in_record));
  });
}

TEST_CASE("every number of an execution comes back from its row, its account and a line of the spool", "[journal]") {
  Tables tables;
  const Finished all = finished();
  REQUIRE(write_started(tables.database, all.started));
  REQUIRE(write_ended(tables.database, all.ended));
  const auto account = read_account(tables.database, "acme", all.started.id);
  REQUIRE(account);
  REQUIRE(*account);
  CHECK(numbers_of((*account)->ended) == numbers_of(all.ended));
  CHECK((*account)->started.uid == 7u);
  const auto page = read_history(tables.database, {}, 0);
  REQUIRE(page);
  CHECK(numbers_of(page->rows.at(0).numbers.ended) == numbers_of(all.ended));
  const auto record = from_line(to_line({7, all}));
  REQUIRE(record);
  CHECK(numbers_of(std::get<Finished>(record->what).ended) == numbers_of(all.ended));
}

TEST_CASE("an unknown number has no member and no key", "[journal]") {
  Ended ended;
  ended.cpu_us = kCpuUnknown;
  CHECK(usage_json(ended, UsageForm::all) == Json{{"wall_ms", 0.0}});
  CHECK(usage_json(ended, UsageForm::large).is_null());
  ended.cpu_us = 1'000'400, ended.memory_peak_bytes = 64 << 20;
  CHECK(usage_json(ended, UsageForm::large) == Json{{"cpu_ms", 1000}, {"memory_peak_bytes", 64 << 20}});
  const Json row = to_json(HistoryRow{{{}, ended}, true});
  CHECK_FALSE(row.contains("TasksPeak"));
}

}  // namespace
}  // namespace journal
