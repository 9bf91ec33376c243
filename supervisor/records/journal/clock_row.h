// The record of the daemon's ElapsedClock (base/elapsed_clock.h), as a row of the journal.
// Used by: journal.cc. Errors: those of Database.
#pragma once
#include <optional>

#include "supervisor/base/elapsed_clock.h"
#include "supervisor/records/journal/schema.h"

namespace journal {

SchemaPart clock_part();

// nullopt: no earlier daemon stored a record.
Result<std::optional<ClockRecord>> read_clock(Database& database);
Result<> write_clock(Database& database, const ClockRecord& record);
// The latest time of the newest execution and the newest audit entry, in milliseconds since 1970; nullopt: the journal
// has no records.
Result<std::optional<int64_t>> newest_record_ms(Database& database);

}  // namespace journal
