// Record: a part of the journal that may be acknowledged before SQLite has it: the end of an execution, or an audit
// entry. Records are numbered in the order of the queue. Each transaction also stores the number of the last applied
// record, so that no record is applied twice, however often the spool is read (spool.h).
// Used by: journal.cc. Errors: those of Database.
#pragma once
#include <optional>
#include <string>
#include <variant>

#include "supervisor/records/journal/audit.h"
#include "supervisor/records/journal/executions.h"

namespace journal {

SchemaPart records_part();

struct Finished {
  StartedRow started;  // repeated here: the row of the begin may be lost
  Ended ended;
};
struct Record {
  int64_t number = 0;
  std::variant<Finished, AuditEntry> what;
};

// The record as one line, with its newline.
std::string to_line(const Record& record);
// Reads a line; empty: it is incomplete or damaged.
std::optional<Record> from_line(std::string_view line);

// Runs on the writer's thread. A record that was applied before is skipped.
Result<> apply(Database& database, const Record& record);
// Number of the last applied record; 0: no record was applied.
Result<int64_t> last_applied(Database& database);

}  // namespace journal
