// Executions: the journal's rows of executions, from begin to end, and the totals of each tenant, which outlive the
// rows.
// Source: supervisor/executions/execution_recording.cc, through journal.h. All functions run on the writer's thread.
// Errors: those of Database.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "supervisor/base/histogram.h"
#include "supervisor/records/journal/schema.h"

namespace journal {

SchemaPart executions_part();

struct StartedRow {
  std::string id;
  std::string tenant;
  std::string language;
  std::string policy;
  uint64_t code_bytes = 0;
  int64_t at_ms = 0;                 // since 1970
  std::optional<uint32_t> uid = {};  // of the client; nullopt: absent, or not known, in rows of older versions
  std::string principal = {};        // "token:ci"; empty: the user `uid`
};

// Ledger: the effect of an execution on its reader's context, in bytes (counted) and tokens (estimated, tokens.h).
// Counted are the output, the answers to calls out of the jail, and the bytes that the program reports to have read of
// the workspace.
struct Ledger {
  uint64_t returned_bytes = 0;             // of the answer, with pictures
  uint64_t printed_bytes = 0;              // stdout and stderr in all
  uint64_t fetched_bytes = 0;              // answers to calls that the jailed code made
  uint64_t definitions_avoided_bytes = 0;  // tool definitions that the client did not have to hold
  uint64_t read_bytes = 0;                 // of the workspace, as the guest reports, at most its size; shell: 0
  uint64_t returned_tokens = 0, printed_tokens = 0, fetched_tokens = 0, definitions_avoided_tokens = 0;
  uint64_t read_tokens = 0;  // estimated from the largest files of the workspace

  // Printed, fetched or read bytes that were not returned. Never more than the real number.
  uint64_t withheld_bytes() const {
    const uint64_t seen = printed_bytes + fetched_bytes + read_bytes;
    return seen > returned_bytes ? seen - returned_bytes : 0;
  }
  // The same in tokens. A tenth of the seen tokens is left out: the estimate may be too high by that much.
  uint64_t withheld_tokens() const {
    const uint64_t seen = (printed_tokens + fetched_tokens + read_tokens) / 10 * 9;
    return withheld_bytes() > 0 && seen > returned_tokens ? seen - returned_tokens : 0;
  }
};

constexpr int64_t kCpuUnknown = -1;
struct Ended {
  std::string id;
  std::string outcome;
  int64_t wall_us = 0;             // of the program
  int64_t took_us = 0;             // from the request to its answer, with the wait for a place and a jail
  int64_t cpu_us = 0;              // kCpuUnknown: NULL in the table, 0 in the sums
  uint64_t memory_peak_bytes = 0;  // 0: not known
  uint32_t processes_peak = 0;     // 0: not known
  Ledger ledger;
};

// Leaves an existing row of that id as it is.
Result<> write_started(Database& database, const StartedRow& start);
// Errors: not_found: no running execution has that id.
Result<> write_ended(Database& database, const Ended& ended);
// At start: marks executions as `interrupted` that still count as running. Returns their number.
Result<uint64_t> interrupt_running(Database& database);

struct Totals {
  uint64_t executions = 0;
  std::map<std::string, uint64_t> outcomes;  // by name; only outcomes that occurred
  std::map<std::string, uint64_t> languages;
  uint64_t wall_us = 0, cpu_us = 0;
  uint64_t cpu_unknown = 0;  // executions that cpu_us does not include; counted by add() only
  Ledger ledger;
  uint64_t withheld_bytes = 0, withheld_tokens = 0;  // sums over the executions

  void add(const std::string& language, const Ended& ended);
};
constexpr int kNewest = 1000;

struct ExecutionStatistics {
  Totals totals;                       // of all executions that ever ended
  Quantiles wall_times, answer_times;  // of the newest, at most kNewest, without interrupted executions
  uint64_t running = 0;
};
Result<ExecutionStatistics> read_statistics(Database& database, const std::string& tenant);

// All data of one execution of a tenant; empty for executions of other tenants. The outcome is empty while the
// execution runs.
struct JournaledExecution {
  StartedRow started;
  Ended ended;
};
// Whether the tenant has a row of this id, or of a branch of it: "<id>-1".
Result<bool> has_execution(Database& database, const std::string& tenant, const std::string& id);
Result<std::optional<JournaledExecution>> read_account(Database& database, const std::string& tenant,
                                                       const std::string& id);

// Removes the executions and totals of a tenant or named workspace that was removed. Its audit entries stay.
Result<> forget_tenant(Database& database, const std::string& tenant);

// The highest number of an execution; 0: without executions.
Result<int64_t> last_row(Database& database);

// Removes the executions of a tenant with all its workspaces up to the number `last_row`, at most `at_once`, and,
// when none is left, its totals. What was removed is overwritten in the file. Returns how many rows went; fewer than
// `at_once`: all are gone.
Result<uint64_t> forget_account(Database& database, const std::string& account, int64_t last_row, uint64_t at_once);

// Removes rows of ended executions, beyond `most` rows or older than `oldest_ms` (retention time), at most `at_once`.
// Returns how many.
// The tenant with most rows loses its oldest first, so every tenant keeps at least most/tenants rows, however many
// other tenants have.
Result<uint64_t> forget_executions(Database& database, uint64_t max, int64_t oldest_ms, uint64_t at_once);

}  // namespace journal
