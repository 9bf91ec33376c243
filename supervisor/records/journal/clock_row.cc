#include "supervisor/records/journal/clock_row.h"

namespace journal {
namespace {

constexpr char kClockTable[] = R"(
CREATE TABLE elapsed_clock(
  one INTEGER PRIMARY KEY CHECK(one=1), retention_ms INTEGER NOT NULL, expected_ms INTEGER NOT NULL,
  uncounted_ms INTEGER NOT NULL, boot_ms INTEGER NOT NULL, boot_id TEXT NOT NULL, confirmed_boot_id TEXT NOT NULL,
  jump_ms INTEGER NOT NULL, jump_since_ms INTEGER NOT NULL
);
)";

}  // namespace

SchemaPart clock_part() { return {"clock", {kClockTable}}; }

Result<std::optional<ClockRecord>> read_clock(Database& database) {
  TRY(Statement statement, database.prepare("SELECT retention_ms, expected_ms, uncounted_ms, boot_ms, boot_id, "
                                            "confirmed_boot_id, jump_ms, jump_since_ms FROM elapsed_clock"));
  TRY(bool row, statement.step());
  if (!row) return std::optional<ClockRecord>();
  return std::optional<ClockRecord>(ClockRecord{.retention_ms = statement.integer(0),
                                                .expected_ms = statement.integer(1),
                                                .uncounted_ms = statement.integer(2),
                                                .boot_ms = statement.integer(3),
                                                .boot_id = statement.text(4),
                                                .confirmed_boot_id = statement.text(5),
                                                .jump_ms = statement.integer(6),
                                                .jump_since_ms = statement.integer(7)});
}

Result<> write_clock(Database& database, const ClockRecord& record) {
  TRY(Statement write, database.prepare("INSERT OR REPLACE INTO elapsed_clock VALUES(1,?,?,?,?,?,?,?,?)"));
  write.bind(record.retention_ms).bind(record.expected_ms).bind(record.uncounted_ms).bind(record.boot_ms);
  write.bind(record.boot_id).bind(record.confirmed_boot_id);
  return write.bind(record.jump_ms).bind(record.jump_since_ms).run();
}

Result<std::optional<int64_t>> newest_record_ms(Database& database) {
  return database.number(
      "SELECT max(ms) FROM (SELECT max(started_ms) AS ms FROM (SELECT started_ms FROM executions "
      "ORDER BY number DESC LIMIT 1) UNION ALL SELECT max(at_ms, last_ms) FROM (SELECT at_ms, "
      "last_ms FROM audit ORDER BY number DESC LIMIT 1))");
}

}  // namespace journal
