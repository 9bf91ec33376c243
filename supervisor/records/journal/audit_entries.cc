#include "supervisor/records/journal/audit_entries.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/records/journal/audit_chain.h"

namespace journal {
namespace {

#define ENTRY_COLUMNS                                                                                     \
  "SELECT number, at_ms, tenant, uid, pid, action, subject, shape, hash, version, kind, count, last_ms, " \
  "principal FROM audit "
#define ENTRIES_OF_KIND(kind) ENTRY_COLUMNS "WHERE account=?2 AND kind=" kind " AND number>?1 "
// SQLite merges the four parts in the order of the numbers: each part comes in that order from the index
// audit_of_share.
#define ENTRIES_OF_ACCOUNT \
  ENTRIES_OF_KIND("0")     \
  "UNION ALL " ENTRIES_OF_KIND("1") "UNION ALL " ENTRIES_OF_KIND("2") "UNION ALL " ENTRIES_OF_KIND("3")

constexpr const char* kAllEntries[] = {ENTRY_COLUMNS "WHERE number>?1 ORDER BY number",
                                       ENTRY_COLUMNS "WHERE number>?1 ORDER BY number DESC"};
constexpr const char* kAccountEntries[] = {ENTRIES_OF_ACCOUNT "ORDER BY number",
                                           ENTRIES_OF_ACCOUNT "ORDER BY number DESC"};
constexpr const char* kAccountKindEntries[] = {ENTRIES_OF_KIND("?3") "ORDER BY number",
                                               ENTRIES_OF_KIND("?3") "ORDER BY number DESC"};
constexpr char kExecutionEntries[] = ENTRY_COLUMNS "WHERE execution=? ORDER BY number";

constexpr std::string_view kAuditKindNames[] = {"call", "refusal", "approval", "own"};
constexpr int kMaxShapeDepth = 8;

ChainEntry chain_entry_of(const Statement& row) {
  return {row.integer(0), row.integer(9), row.blob(8), chain::entry_of(row)};
}

bool fits(const AuditFilter& filter, const AuditEntry& entry) {
  const int64_t last = std::max(entry.at_ms, entry.last_ms);
  return (!filter.kind || *filter.kind == entry.kind) && (!filter.since_ms || last >= *filter.since_ms) &&
         (!filter.until_ms || entry.at_ms < *filter.until_ms);
}

Result<> check_version(Database& database) {
  TRY(const auto version, database.number("SELECT version FROM parts WHERE name='audit'"));
  if (version.value_or(0) >= 4) return {};
  return fail(Code::unavailable, database.path() + " was written by an older version of Warder",
              "start the daemon of this version once: it changes the file's form");
}

}  // namespace

Result<> each_entry(Database& database, const AuditFilter& filter, EntryOrder order,
                    const std::function<bool(const ChainEntry&)>& take) {
  CHECKED(check_version(database));
  const auto by = static_cast<size_t>(order);
  const char* sql = filter.account.empty() ? kAllEntries[by]
                    : filter.kind          ? kAccountKindEntries[by]
                                           : kAccountEntries[by];
  TRY(Statement rows, database.prepare(sql));
  rows.bind(filter.after);
  if (!filter.account.empty()) rows.bind(filter.account);
  if (!filter.account.empty() && filter.kind) rows.bind(static_cast<int64_t>(*filter.kind));
  for (;;) {
    TRY(bool row, rows.step());
    if (!row) return {};
    const ChainEntry entry = chain_entry_of(rows);
    if (fits(filter, entry.entry) && !take(entry)) return {};
  }
}

Result<std::vector<ChainEntry>> entries_of_execution(Database& database, const std::string& id, size_t max,
                                                     size_t bytes, bool& has_more) {
  CHECKED(check_version(database));
  TRY(Statement rows, database.prepare(kExecutionEntries));
  rows.bind(id);
  std::vector<ChainEntry> entries;
  has_more = false;
  for (size_t used = 0;;) {
    TRY(bool row, rows.step());
    if (!row) return entries;
    ChainEntry entry = chain_entry_of(rows);
    used += entry.entry.shape.size() + entry.entry.subject.size() + entry.entry.action.size();
    if (entries.size() == max || used > bytes) {
      has_more = true;
      return entries;
    }
    entries.push_back(std::move(entry));
  }
}

std::string_view kind_name(AuditKind kind) {
  const auto number = static_cast<size_t>(kind);
  return number < std::size(kAuditKindNames) ? kAuditKindNames[number] : "unknown";
}

std::optional<AuditKind> parse_kind(std::string_view name) {
  const auto it = std::find(std::begin(kAuditKindNames), std::end(kAuditKindNames), name);
  if (it == std::end(kAuditKindNames)) return std::nullopt;
  return static_cast<AuditKind>(it - std::begin(kAuditKindNames));
}

std::string utc_time(int64_t ms) {
  const int64_t below = ((ms % 1000) + 1000) % 1000;
  const auto seconds = static_cast<std::time_t>((ms - below) / 1000);
  std::tm parts{};
  if (::gmtime_r(&seconds, &parts) == nullptr || parts.tm_year > 9999 - 1900) return "-";
  char text[64];
  return fmt::format("{}.{:03}Z", std::string_view(text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts)),
                     below);
}

Json to_json(const ChainEntry& line) {
  const AuditEntry& entry = line.entry;
  auto details = parse_json(entry.shape, kMaxShapeDepth);
  return {{"number", line.number},
          {"hash", chain::hexadecimal(line.hash)},
          {"version", line.version},
          {"time", utc_time(entry.at_ms)},
          {"last_time", utc_time(std::max(entry.at_ms, entry.last_ms))},
          {"tenant", valid_utf8(entry.tenant)},
          {"principal", valid_utf8(principal_of(entry))},
          {"uid", entry.principal.empty() ? Json(entry.uid) : Json()},
          {"pid", entry.principal.empty() ? Json(entry.pid) : Json()},
          {"kind", std::string(kind_name(entry.kind))},
          {"action", valid_utf8(entry.action)},
          {"subject", valid_utf8(entry.subject)},
          {"count", entry.count},
          {"details", details ? *std::move(details) : Json(valid_utf8(entry.shape))}};
}

}  // namespace journal
