// Executions: one row for each, from its begin to its end; and the totals of each tenant, which outlive the rows.
// Source: supervisor/tools/execution/execute_code.cc, through journal.h. All functions run on the writer's thread.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "supervisor/journal/schema.h"

namespace journal {

Part executions_part();

struct Begun {
  std::string id;
  std::string tenant;
  std::string language;
  std::string policy;
  uint64_t code_bytes = 0;
  int64_t at_ms = 0;  // since 1970
};

// What an execution did to its reader's context: bytes, which are counted, and tokens, which are estimated (tokens.h).
// Counted: what was printed, what calls out of the jail brought in, and what the program says it read of the workspace.
struct Ledger {
  uint64_t returned_bytes = 0;             // of the answer, pictures included
  uint64_t printed_bytes = 0;              // stdout and stderr in all
  uint64_t fetched_bytes = 0;              // answers to calls that the jailed code made
  uint64_t definitions_avoided_bytes = 0;  // tool definitions that the client did not have to hold
  uint64_t read_bytes = 0;                 // of the workspace: the guest's word, at most what was there; shell: 0
  uint64_t returned_tokens = 0, printed_tokens = 0, fetched_tokens = 0, definitions_avoided_tokens = 0;
  uint64_t read_tokens = 0;  // as if it were like the largest files of the workspace

  // Printed, fetched or read, and not returned: never more than was really there.
  uint64_t kept_out_bytes() const {
    const uint64_t seen = printed_bytes + fetched_bytes + read_bytes;
    return seen > returned_bytes ? seen - returned_bytes : 0;
  }
  // The same in tokens. A tenth of what was seen is not claimed: the estimate may be too high by as much.
  uint64_t kept_out_tokens() const {
    const uint64_t seen = (printed_tokens + fetched_tokens + read_tokens) / 10 * 9;
    return kept_out_bytes() > 0 && seen > returned_tokens ? seen - returned_tokens : 0;
  }
};

struct Ended {
  std::string id;
  std::string outcome;
  int64_t wall_us = 0;  // of the program
  int64_t took_us = 0;  // from the request to its answer: waiting for a place and a jail, too
  int64_t cpu_us = 0;
  uint64_t memory_peak_bytes = 0;
  uint32_t processes_peak = 0;  // 0: not known
  Ledger ledger;
};

// A row of that id that is there already stays.
Result<> write_begun(Database& database, const Begun& begun);
// Errors: not_found, no running execution has that id.
Result<> write_ended(Database& database, const Ended& ended);
// At start: who still counts as running lost his daemon. How many there were.
Result<uint64_t> interrupt_running(Database& database);

struct Totals {
  uint64_t executions = 0;
  std::map<std::string, uint64_t> outcomes;  // by name, those that occurred
  std::map<std::string, uint64_t> languages;
  uint64_t wall_us = 0, cpu_us = 0;
  Ledger ledger;
  uint64_t kept_out_bytes = 0, kept_out_tokens = 0;  // the executions' own, summed

  void add(const std::string& language, const Ended& ended);
};
struct Quantiles {
  uint64_t executions = 0;  // that these are of: the newest ones, at most kNewest
  int64_t p50_us = 0, p90_us = 0, p99_us = 0, most_us = 0;
};
constexpr int kNewest = 1000;

struct ExecutionStatistics {
  Totals totals;                       // of everything that ever ended
  Quantiles wall_times, answer_times;  // not of interrupted ones
  uint64_t running = 0;
};
Result<ExecutionStatistics> read_statistics(Database& database, const std::string& tenant);

// One row, for tests and for those who list executions.
struct Row {
  std::string id, tenant, language, policy, outcome;  // outcome: empty while it runs
  int64_t started_ms = 0, wall_us = 0;
};
Result<std::optional<Row>> find_execution(Database& database, const std::string& id);

// All that is kept of one execution of a tenant; nothing is known of another tenant's. Its outcome is empty while it
// runs.
struct JournaledExecution {
  Begun begun;
  Ended ended;
};
Result<std::optional<JournaledExecution>> read_account(Database& database, const std::string& tenant,
                                                       const std::string& id);

// A tenant's executions and its totals, when nobody of that name is left. What the audit has of it stays.
Result<> forget_tenant(Database& database, const std::string& tenant);

// Rows that ended, beyond `most` or older than `oldest_ms`; at most `at_once` of them. How many went. Whichever tenant
// has most rows loses its oldest: so none is taken below most/tenants, whatever others run.
Result<uint64_t> forget_executions(Database& database, uint64_t most, int64_t oldest_ms, uint64_t at_once);

}  // namespace journal
