// Record: what of the journal may be acknowledged before SQLite has it: the end of an execution, an entry of the audit.
// Numbered in the order in which they were queued. The number of the last one applied is kept in the same transaction,
// so that none is applied twice, however often it is read again (spool.h).
#pragma once
#include <optional>
#include <string>
#include <variant>

#include "supervisor/journal/audit.h"
#include "supervisor/journal/executions.h"

namespace journal {

Part records_part();

struct Finished {
  Begun begun;  // once more: the row of its begin may be lost
  Ended ended;
};
struct Record {
  int64_t number = 0;
  std::variant<Finished, AuditEntry> what;
};

// One line, with its newline.
std::string to_line(const Record& record);
// Nothing: not a whole line of ours.
std::optional<Record> from_line(std::string_view line);

// On the writer's thread. A record that was applied before is left.
Result<> apply(Database& database, const Record& record);
// Number of the last one applied; 0: none.
Result<int64_t> last_applied(Database& database);

}  // namespace journal
