// Execution details: what the journal stores of an ended execution beside its numbers: its message, receipt and changed
// files. They are written after the answer, and are not in the spool: a killed daemon loses the details of the last
// 20 ms. A row that is removed takes its details along (a trigger of executions.cc).
// Source: executions/execution_recording.cc. Used by: journal.h, history.h. Runs on the writer's thread.
// Errors: those of Database.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "supervisor/records/journal/database.h"

namespace journal {

constexpr size_t kDetailsMessageBytes = 1'000;
constexpr size_t kDetailsReceiptBytes = 16 << 10;
constexpr size_t kDetailsFilesBytes = 8 << 10;

struct ExecutionDetails {
  std::string start;    // of the jail: cold, exec, fork; empty: no jail
  std::string message;  // which limit, or advice; shortened to kDetailsMessageBytes
  std::string receipt;  // a JSON object; a longer one than kDetailsReceiptBytes is not stored
  std::string files;    // as file_list() makes it; empty: no file changed
};

// The changed files as a JSON object: {"created":[...],"modified":[...],"deleted":[...],"omitted":N}, of at most
// kDetailsFilesBytes. `omitted` counts paths that found no room, and `before` that were left out already. Empty if
// there are none.
struct ChangedFiles {
  const char* kind = "";  // "created", "modified", "deleted"
  const std::vector<std::string>* paths = nullptr;
  uint64_t omitted = 0;
};
std::string file_list(const std::vector<ChangedFiles>& changed);

// No effect if the execution has no row, or has details already.
Result<> write_details(Database& database, const std::string& id, const ExecutionDetails& details);
// `number`: of the row in `executions`.
Result<std::optional<ExecutionDetails>> read_details(Database& database, int64_t number);
// The receipt of one execution of the tenant: empty text: none is stored, or not yet. nullopt: the tenant has no row of
// that id.
Result<std::optional<std::string>> read_receipt(Database& database, const std::string& tenant, const std::string& id);

}  // namespace journal
