#include "supervisor/records/journal/executions.h"

#include <fmt/format.h>

#include <algorithm>

#include "supervisor/base/elapsed_clock.h"
#include "supervisor/records/journal/execution_facts.h"

namespace journal {
namespace {

constexpr char kExecutionTables[] = R"(
CREATE TABLE executions(
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  tenant TEXT NOT NULL,
  language TEXT NOT NULL,
  policy TEXT NOT NULL,
  started_ms INTEGER NOT NULL,
  code_bytes INTEGER NOT NULL,
  outcome TEXT,  -- NULL: it runs
  wall_us INTEGER, took_us INTEGER, cpu_us INTEGER, memory_peak_bytes INTEGER, processes_peak INTEGER,
  returned_bytes INTEGER, printed_bytes INTEGER, fetched_bytes INTEGER, definitions_avoided_bytes INTEGER
);
CREATE INDEX executions_of_tenant ON executions(tenant, number);
CREATE INDEX executions_running ON executions(tenant) WHERE outcome IS NULL;
CREATE TABLE totals(
  tenant TEXT NOT NULL, language TEXT NOT NULL, outcome TEXT NOT NULL,
  executions INTEGER NOT NULL, wall_us INTEGER NOT NULL, cpu_us INTEGER NOT NULL,
  returned_bytes INTEGER NOT NULL, printed_bytes INTEGER NOT NULL, fetched_bytes INTEGER NOT NULL,
  kept_out_bytes INTEGER NOT NULL, definitions_avoided_bytes INTEGER NOT NULL,
  PRIMARY KEY(tenant, language, outcome)
) WITHOUT ROWID;
)";
constexpr char kReadBytes[] = R"(
ALTER TABLE executions ADD COLUMN read_bytes INTEGER;
ALTER TABLE totals ADD COLUMN read_bytes INTEGER NOT NULL DEFAULT 0;
)";
// Tokens of older rows are bytes / 3.5.
constexpr char kTokens[] = R"(
ALTER TABLE executions ADD COLUMN returned_tokens INTEGER;
ALTER TABLE executions ADD COLUMN printed_tokens INTEGER;
ALTER TABLE executions ADD COLUMN fetched_tokens INTEGER;
ALTER TABLE executions ADD COLUMN definitions_avoided_tokens INTEGER;
ALTER TABLE executions ADD COLUMN read_tokens INTEGER;
ALTER TABLE executions ADD COLUMN kept_out_tokens INTEGER;
ALTER TABLE totals ADD COLUMN returned_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE totals ADD COLUMN kept_out_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE totals ADD COLUMN definitions_avoided_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE totals ADD COLUMN read_tokens INTEGER NOT NULL DEFAULT 0;
UPDATE executions SET returned_tokens=returned_bytes*2/7, printed_tokens=printed_bytes*2/7,
  fetched_tokens=fetched_bytes*2/7, definitions_avoided_tokens=definitions_avoided_bytes*2/7,
  read_tokens=read_bytes*2/7;
UPDATE totals SET returned_tokens=returned_bytes*2/7, kept_out_tokens=kept_out_bytes*2/7,
  definitions_avoided_tokens=definitions_avoided_bytes*2/7, read_tokens=read_bytes*2/7;
)";
// Rows of each tenant in all its workspaces. Triggers keep the counts right, for any statement that removes a row.
constexpr char kExecutionShares[] = R"(
ALTER TABLE executions ADD COLUMN account TEXT NOT NULL
  GENERATED ALWAYS AS (substr(tenant, 1, instr(tenant || '/', '/') - 1)) VIRTUAL;
CREATE INDEX executions_of_account ON executions(account, number);
CREATE TABLE execution_shares(account TEXT PRIMARY KEY, executions INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE execution_sum(one INTEGER PRIMARY KEY CHECK(one=1), executions INTEGER NOT NULL);
INSERT INTO execution_shares SELECT account, count(*) FROM executions GROUP BY account;
INSERT INTO execution_sum SELECT 1, count(*) FROM executions;
CREATE INDEX execution_shares_by_size ON execution_shares(executions);
CREATE TRIGGER execution_came AFTER INSERT ON executions BEGIN
  INSERT INTO execution_shares VALUES(new.account, 1) ON CONFLICT DO UPDATE SET executions=executions+1;
  UPDATE execution_sum SET executions=executions+1;
END;
CREATE TRIGGER execution_went AFTER DELETE ON executions BEGIN
  UPDATE execution_shares SET executions=executions-1 WHERE account=old.account;
  DELETE FROM execution_shares WHERE account=old.account AND executions<=0;
  UPDATE execution_sum SET executions=executions-1;
END;
)";

// For history.h: the times are the order of its pages. A row takes its details along.
constexpr char kHistory[] = R"(
ALTER TABLE executions ADD COLUMN uid INTEGER;
CREATE INDEX executions_by_time ON executions(started_ms);
CREATE INDEX executions_of_account_by_time ON executions(account, started_ms);
CREATE TABLE execution_details(
  number INTEGER PRIMARY KEY,
  start TEXT NOT NULL, message TEXT NOT NULL, receipt TEXT NOT NULL, files TEXT NOT NULL
);
CREATE TRIGGER execution_details_went AFTER DELETE ON executions BEGIN
  DELETE FROM execution_details WHERE number=old.number;
END;
)";

constexpr char kPrincipals[] = "ALTER TABLE executions ADD COLUMN principal TEXT NOT NULL DEFAULT '';";

// The age of the row for the sweep, as retention time (base/elapsed_clock.h); 0: by an older version.
constexpr char kAge[] = "ALTER TABLE executions ADD COLUMN recorded_ms INTEGER NOT NULL DEFAULT 0;";

uint64_t loaded(int64_t value) { return value < 0 ? 0 : static_cast<uint64_t>(value); }

std::string placeholders(std::string_view columns) {
  std::string text = "?";
  for (const char c : columns)
    if (c == ',') text += ",?";
  return text;
}

// Calls visit(column of the table `totals`, sum) for each sum that the table has.
template <class Value, class Visit>
void for_each_total(Value&& totals, Visit visit) {
  visit("wall_us", totals.wall_us), visit("cpu_us", totals.cpu_us);
  visit("kept_out_bytes", totals.withheld_bytes), visit("kept_out_tokens", totals.withheld_tokens);
  for_each_ledger_fact([&](const ExecutionFact& fact, uint64_t Ledger::*member) {
    if (fact.totalled != Totalled::no) visit(fact.column, totals.ledger.*member);
  });
}

// A text for each column of for_each_total(), with `column` in place of each "@".
std::string for_total_columns(std::string_view form) {
  std::string text;
  for_each_total(Totals(), [&](std::string_view column, uint64_t) {
    text += ", ";
    for (const char c : form) c == '@' ? text += column : text += c;
  });
  return text;
}

// `selected`: the columns language, outcome and executions, then the sums, of some executions of one tenant each.
std::string add_to_totals(const std::string& selected) {
  return "INSERT INTO totals(tenant, language, outcome, executions" + for_total_columns("@") + ") SELECT tenant, " +
         selected + " ON CONFLICT DO UPDATE SET executions=executions+excluded.executions" +
         for_total_columns("@=@+excluded.@");
}

Result<Totals> read_totals(Database& database, const std::string& tenant) {
  static const std::string kTotals =
      "SELECT language, outcome, executions" + for_total_columns("@") + " FROM totals WHERE tenant=?";
  TRY(Statement rows, database.prepare(kTotals.c_str()));
  rows.bind(tenant);
  Totals totals;
  for (;;) {
    TRY(bool row, rows.step());
    if (!row) return totals;
    const uint64_t count = loaded(rows.integer(2));
    totals.executions += count;
    totals.languages[rows.text(0)] += count;
    totals.outcomes[rows.text(1)] += count;
    int column = 3;
    for_each_total(totals, [&](std::string_view, uint64_t& sum) { sum += loaded(rows.integer(column++)); });
  }
}

constexpr char kWallTimes[] =
    "SELECT wall_us FROM executions WHERE tenant=? AND wall_us IS NOT NULL ORDER BY number DESC LIMIT ?";
constexpr char kAnswerTimes[] =
    "SELECT took_us FROM executions WHERE tenant=? AND took_us IS NOT NULL ORDER BY number DESC LIMIT ?";

Result<Quantiles> read_quantiles(Database& database, const std::string& tenant, const char* times_of) {
  TRY(Statement rows, database.prepare(times_of));
  rows.bind(tenant).bind(kNewest);
  std::vector<int64_t> times;
  for (;;) {
    TRY(bool row, rows.step());
    if (!row) break;
    times.push_back(rows.integer(0));
  }
  return exact_quantiles(std::move(times));
}

}  // namespace

SchemaPart executions_part() {
  return {"executions", {kExecutionTables, kReadBytes, kTokens, kExecutionShares, kHistory, kPrincipals, kAge}};
}

Result<> write_started(Database& database, const StartedRow& start) {
  static const std::string kColumns = started_columns() + ", recorded_ms";
  static const std::string kInsert =
      "INSERT INTO executions(" + kColumns + ") VALUES(" + placeholders(kColumns) + ") ON CONFLICT(id) DO NOTHING";
  TRY(Statement insert, database.prepare(kInsert.c_str()));
  bind_facts(insert, start);
  return insert.bind(retention_now_ms()).run();
}

Result<> write_ended(Database& database, const Ended& ended) {
  static const std::string kColumns = ended_columns() + ", outcome, kept_out_tokens";
  static const std::string kUpdate =
      "UPDATE executions SET (" + kColumns + ")=(" + placeholders(kColumns) + ") WHERE id=? AND outcome IS NULL";
  TRY(Statement update, database.prepare(kUpdate.c_str()));
  bind_facts(update, ended);
  CHECKED(update.bind(ended.outcome).bind(stored(ended.ledger.withheld_tokens())).bind(ended.id).run());
  if (database.changed_rows() == 0)
    return fail(Code::not_found, fmt::format("the journal knows no running execution '{}'", ended.id));
  static const std::string kAdd =
      add_to_totals("language, outcome, 1" + for_total_columns("?") + " FROM executions WHERE id=?");
  TRY(Statement add, database.prepare(kAdd.c_str()));
  Totals one;
  one.add({}, ended);
  for_each_total(one, [&add](std::string_view, uint64_t sum) { add.bind(stored(sum)); });
  return add.bind(ended.id).run();
}

Result<uint64_t> interrupt_running(Database& database) {
  CHECKED(database.execute(add_to_totals("language, 'interrupted', count(*)" + for_total_columns("0") +
                                         " FROM executions WHERE outcome IS NULL GROUP BY tenant, language")
                               .c_str()));
  CHECKED(database.execute("UPDATE executions SET outcome='interrupted' WHERE outcome IS NULL"));
  return loaded(database.changed_rows());
}

void Totals::add(const std::string& language, const Ended& ended) {
  executions++;
  outcomes[ended.outcome]++;
  languages[language]++;
  wall_us += loaded(ended.wall_us);
  cpu_us += loaded(ended.cpu_us);
  if (ended.cpu_us == kCpuUnknown) cpu_unknown++;
  for_each_ledger_fact([&](const ExecutionFact&, uint64_t Ledger::*member) { ledger.*member += ended.ledger.*member; });
  withheld_tokens += ended.ledger.withheld_tokens();
  withheld_bytes += ended.ledger.withheld_bytes();
}

Result<ExecutionStatistics> read_statistics(Database& database, const std::string& tenant) {
  ExecutionStatistics statistics;
  TRY(statistics.totals, read_totals(database, tenant));
  TRY(statistics.wall_times, read_quantiles(database, tenant, kWallTimes));
  TRY(statistics.answer_times, read_quantiles(database, tenant, kAnswerTimes));
  TRY(Statement running, database.prepare("SELECT count(*) FROM executions WHERE tenant=? AND outcome IS NULL"));
  TRY(bool row, running.bind(tenant).step());
  if (row) statistics.running = loaded(running.integer(0));
  return statistics;
}

// The plus sign keeps SQLite from reading all rows of the tenant: the ids have an index.
Result<bool> has_execution(Database& database, const std::string& tenant, const std::string& id) {
  TRY(Statement rows,
      database.prepare("SELECT 1 FROM executions WHERE +tenant=?1 AND (id=?2 OR (id>?2||'-' AND id<?2||'.')) LIMIT 1"));
  TRY(bool row, rows.bind(tenant).bind(id).step());
  return row;
}

Result<std::optional<JournaledExecution>> read_account(Database& database, const std::string& tenant,
                                                       const std::string& id) {
  static const std::string kAccount = "SELECT " + execution_columns() + " FROM executions WHERE tenant=? AND id=?";
  TRY(Statement rows, database.prepare(kAccount.c_str()));
  TRY(bool row, rows.bind(tenant).bind(id).step());
  return row ? std::optional(read_execution(rows, 0)) : std::nullopt;
}

Result<> forget_tenant(Database& database, const std::string& tenant) {
  for (const char* removal : {"DELETE FROM executions WHERE tenant=?", "DELETE FROM totals WHERE tenant=?"}) {
    TRY(Statement remove, database.prepare(removal));
    CHECKED(remove.bind(tenant).run());
  }
  return {};
}

Result<int64_t> last_row(Database& database) {
  TRY(const auto last, database.number("SELECT MAX(number) FROM executions"));
  return last.value_or(0);
}

Result<uint64_t> forget_account(Database& database, const std::string& account, int64_t last_row, uint64_t at_once) {
  CHECKED(database.execute("PRAGMA secure_delete=ON"));
  auto removed = [&]() -> Result<uint64_t> {
    TRY(Statement remove,
        database.prepare("DELETE FROM executions WHERE number IN (SELECT number FROM executions WHERE "
                         "account=? AND number<=? LIMIT ?)"));
    CHECKED(remove.bind(account).bind(last_row).bind(stored(at_once)).run());
    const uint64_t missing = loaded(database.changed_rows());
    if (missing >= at_once) return missing;
    // "acme", "acme/reports": '0' is the character behind '/'.
    TRY(Statement totals, database.prepare("DELETE FROM totals WHERE tenant=?1 OR (tenant>?1 || '/' AND "
                                           "tenant<?1 || '0')"));
    CHECKED(totals.bind(account).run());
    return missing;
  }();
  CHECKED(database.execute("PRAGMA secure_delete=OFF"));
  return removed;
}

namespace {

struct LargestShare {
  std::string account;
  int64_t executions = 0, second = 0;  // rows of this share, and of the second largest
};
Result<LargestShare> largest_share(Database& database) {
  LargestShare largest;
  TRY(Statement rows, database.prepare("SELECT account, executions FROM execution_shares ORDER BY executions DESC "
                                       "LIMIT 2"));
  TRY(bool first, rows.step());
  if (!first) return largest;
  largest.account = rows.text(0), largest.executions = rows.integer(1);
  TRY(bool second, rows.step());
  if (second) largest.second = rows.integer(1);
  return largest;
}

}  // namespace

Result<uint64_t> forget_executions(Database& database, uint64_t max, int64_t oldest_ms, uint64_t at_once) {
  TRY(Statement old, database.prepare("DELETE FROM executions WHERE number IN (SELECT number FROM (SELECT number, "
                                      "iif(recorded_ms=0, started_ms, recorded_ms) AS recorded, outcome "
                                      "FROM executions ORDER BY number LIMIT ?2) "
                                      "WHERE recorded<?1 AND outcome IS NOT NULL)"));
  CHECKED(old.bind(oldest_ms).bind(stored(at_once)).run());
  uint64_t removed = loaded(database.changed_rows());
  while (removed < at_once) {
    TRY(const auto sum, database.number("SELECT executions FROM execution_sum"));
    const int64_t over = sum.value_or(0) - stored(max);
    if (over <= 0) break;
    TRY(const LargestShare largest, largest_share(database));
    const int64_t room = stored(at_once - removed), ahead = largest.executions - largest.second + 1;
    TRY(Statement remove, database.prepare("DELETE FROM executions WHERE number IN (SELECT number FROM executions "
                                           "WHERE account=? AND outcome IS NOT NULL ORDER BY number LIMIT ?)"));
    CHECKED(remove.bind(largest.account).bind(std::min({over, room, ahead})).run());
    if (database.changed_rows() == 0) break;  // all its executions still run
    removed += loaded(database.changed_rows());
  }
  return removed;
}

}  // namespace journal
