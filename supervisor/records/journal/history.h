// History: reads the journal's executions page by page, newest first, and one execution with all its details:
// its numbers, its details (receipt, changed files), and its calls and approvals from the audit chain.
// Source: executions.h, execution_details.h, audit.h. Used by: journal.cc for D-Bus, supervisor/programs/cli/admin/ for
// a file without a daemon. All functions only read, on any connection. Errors: invalid, naming the value; those of
// Database.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "supervisor/base/json/json_fwd.h"
#include "supervisor/records/journal/audit_entries.h"
#include "supervisor/records/journal/execution_details.h"
#include "supervisor/records/journal/executions.h"

namespace journal {

constexpr uint32_t kHistoryRows = 1'000;       // rows of one page, at most
constexpr uint32_t kHistoryExamined = 10'000;  // rows that one page reads: a page may have few rows, and a next one
constexpr size_t kStoryEntries = 200;          // audit entries of one execution
constexpr size_t kStoryEntryBytes = 128 << 10;
constexpr size_t kMinIdPrefix = 4;  // characters

struct HistoryFilter {
  std::string account = {};   // tenant, with all its workspaces; empty: all tenants
  std::string outcome = {};   // "ok", or "running"; empty: all
  std::string language = {};  // empty: all
  std::optional<uint32_t> uid = {};
  std::string principal = {};                           // "token:ci", "uid:1000"; empty: all
  std::optional<int64_t> since_ms = {}, until_ms = {};  // begin of the execution, since 1970; `until` is excluded
  std::string after = {};                               // HistoryPage::next of the page before; empty: the first page
};
struct HistoryRow {
  JournaledExecution numbers;  // outcome: empty while it runs
  bool is_measured = false;    // false: the program has no times, because it runs or was interrupted
};
struct HistoryPage {
  std::vector<HistoryRow> rows;  // by begin, newest first
  std::string next;              // empty: there is no further page
};
// At most `limit` rows, and never more than kHistoryRows; 0: kHistoryRows.
Result<HistoryPage> read_history(Database& database, const HistoryFilter& filter, uint32_t limit);

struct ExecutionStory {
  HistoryRow row;
  std::optional<ExecutionDetails> details;  // nullopt: not stored
  std::vector<ChainEntry> entries;          // calls, approvals and questions of its code, oldest first
  bool has_more_entries = false;
};
// The execution whose id begins with `prefix`. `account`: only executions of this tenant; empty: of all. nullopt: there
// is none. Errors: invalid: the prefix is too short or no part of an id, or several ids begin with it.
Result<std::optional<ExecutionStory>> read_story(Database& database, const std::string& account,
                                                 const std::string& prefix);

// As D-Bus and --json tell it: the members of ListHistory and GetRecord in units/dbus/org.warder.Warder1.Manager.xml.
// An unknown number has no member.
Json to_json(const HistoryRow& row);
Json to_json(const ExecutionStory& story);

}  // namespace journal
