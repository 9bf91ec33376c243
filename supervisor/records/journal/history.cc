#include "supervisor/records/journal/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "policies/tenant_id.h"
#include "supervisor/base/ascii.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/records/journal/execution_facts.h"

namespace journal {
namespace {

constexpr size_t kMaxIdBytes = 64, kMaxReportedIds = 5;
constexpr int kMaxFilesDepth = 3;

// A page goes down the index by time from a place in it: the time and the number of the last row before. The place is
// not stable against a clock that was set back; then a row may be seen twice, or not at all.
struct PageCursor {
  int64_t ms = INT64_MAX, number = INT64_MAX;
};

// `number` is the first column, whether the times are known the second one; read_execution() reads the others.
std::string history_rows(const std::string& condition) {
  return "SELECT number, wall_us IS NOT NULL, " + execution_columns() + " FROM executions WHERE " + condition;
}

uint64_t counted(int64_t value) { return value < 0 ? 0 : static_cast<uint64_t>(value); }

HistoryRow history_row_of(const Statement& row) {
  HistoryRow history_row{read_execution(row, 2), row.integer(1) != 0};
  StartedRow& start = history_row.numbers.started;
  if (start.principal.empty() && start.uid) start.principal = fmt::format("uid:{}", *start.uid);
  return history_row;
}

bool fits(const HistoryFilter& filter, const HistoryRow& row) {
  const auto& [started, ended] = row.numbers;
  const std::string outcome = ended.outcome.empty() ? "running" : ended.outcome;
  return (filter.outcome.empty() || filter.outcome == outcome) &&
         (filter.language.empty() || filter.language == started.language) &&
         (!filter.uid || filter.uid == started.uid) &&
         (filter.principal.empty() || filter.principal == started.principal);
}

Result<PageCursor> first_place(const HistoryFilter& filter) {
  if (filter.after.empty()) return filter.until_ms ? PageCursor{*filter.until_ms, INT64_MIN} : PageCursor{};
  PageCursor cursor;
  const char* const end = filter.after.data() + filter.after.size();
  const auto ms = std::from_chars(filter.after.data(), end, cursor.ms);
  if (ms.ec == std::errc() && ms.ptr != end && *ms.ptr == ':') {
    const auto number = std::from_chars(ms.ptr + 1, end, cursor.number);
    if (number.ec == std::errc() && number.ptr == end) return cursor;
  }
  return fail(Code::invalid, "After: this is not the place of a next page", "pass `next` as ListHistory answered it");
}

Result<> check_version_of_history(Database& database) {
  TRY(const auto version, database.number("SELECT version FROM parts WHERE name='executions'"));
  if (version.value_or(0) >= 5) return {};
  return fail(Code::unavailable, database.path() + " was written by an older version of Warder",
              "start the daemon of this version once: it changes the file's form");
}

Result<> check_prefix(const std::string& prefix) {
  const bool good =
      std::all_of(prefix.begin(), prefix.end(), [](char c) { return is_lower_or_digit(c) || c == '-' || c == '_'; });
  if (!good || prefix.size() > kMaxIdBytes)
    return fail(Code::invalid, "this is not an execution id", "warder history lists them");
  if (prefix.size() < kMinIdPrefix)
    return fail(Code::invalid, fmt::format("'{}' is too short for an execution id", prefix),
                fmt::format("give its first {} characters or more", kMinIdPrefix));
  return {};
}

struct NumberedRow {
  int64_t number = 0;
  HistoryRow row;
};

// The executions whose ids begin with the prefix, at most kMaxReportedIds + 1.
Result<std::vector<NumberedRow>> rows_of_prefix(Database& database, const std::string& account,
                                                const std::string& prefix) {
  static const std::string kOfPrefix = history_rows("id>=?1 AND id<?2 ORDER BY id LIMIT ?3");
  TRY(Statement rows, database.prepare(kOfPrefix.c_str()));
  rows.bind(prefix).bind(prefix + "\x7f").bind(int64_t{kHistoryExamined} + 1);
  std::vector<NumberedRow> numbered_rows;
  for (uint32_t examined = 0; numbered_rows.size() <= kMaxReportedIds; examined++) {
    TRY(bool row, rows.step());
    if (!row) break;
    if (examined == kHistoryExamined)
      return fail(Code::invalid, fmt::format("too many execution ids begin with '{}'", prefix), "give more characters");
    NumberedRow numbered_row{rows.integer(0), history_row_of(rows)};
    const std::string_view owner = tenants::account_of(numbered_row.row.numbers.started.tenant);
    if (account.empty() || owner == account) numbered_rows.push_back(std::move(numbered_row));
  }
  return numbered_rows;
}

}  // namespace

Result<HistoryPage> read_history(Database& database, const HistoryFilter& filter, uint32_t limit) {
  CHECKED(check_version_of_history(database));
  TRY(const PageCursor begin, first_place(filter));
  const uint32_t max = limit == 0 ? kHistoryRows : std::min(limit, kHistoryRows);
  static const std::string kPage =
      "started_ms<=?1 AND started_ms>=?3 AND (started_ms, number)<(?1, ?2) "
      "ORDER BY started_ms DESC, number DESC LIMIT ?4";
  static const std::string kAllHistory = history_rows(kPage), kAccountHistory = history_rows("account=?5 AND " + kPage);
  TRY(Statement rows, database.prepare((filter.account.empty() ? kAllHistory : kAccountHistory).c_str()));
  rows.bind(begin.ms).bind(begin.number).bind(filter.since_ms.value_or(INT64_MIN));
  rows.bind(int64_t{kHistoryExamined});
  if (!filter.account.empty()) rows.bind(filter.account);
  HistoryPage page;
  PageCursor last;
  uint32_t examined = 0;
  while (page.rows.size() < max) {
    TRY(bool row, rows.step());
    if (!row) break;
    examined++;
    HistoryRow read = history_row_of(rows);
    last = {read.numbers.started.at_ms, rows.integer(0)};
    if (fits(filter, read)) page.rows.push_back(std::move(read));
  }
  if (page.rows.size() == max || examined == kHistoryExamined) page.next = fmt::format("{}:{}", last.ms, last.number);
  return page;
}

Result<std::optional<ExecutionStory>> read_story(Database& database, const std::string& account,
                                                 const std::string& prefix) {
  CHECKED(check_version_of_history(database));
  CHECKED(check_prefix(prefix));
  TRY(std::vector<NumberedRow> rows, rows_of_prefix(database, account, prefix));
  if (rows.empty()) return std::optional<ExecutionStory>();
  const bool is_exact = rows.front().row.numbers.started.id == prefix;  // the first one in the order of ids
  if (rows.size() > 1 && !is_exact) {
    std::string ids;
    for (size_t i = 0; i < std::min(rows.size(), kMaxReportedIds); i++)
      ids += (i > 0 ? ", " : "") + rows[i].row.numbers.started.id;
    return fail(Code::invalid,
                fmt::format("several execution ids begin with '{}': {}{}", prefix, ids,
                            rows.size() > kMaxReportedIds ? ", ..." : ""),
                "give more characters");
  }
  ExecutionStory story;
  story.row = std::move(rows.front().row);
  TRY(story.details, read_details(database, rows.front().number));
  TRY(story.entries, entries_of_execution(database, story.row.numbers.started.id, kStoryEntries, kStoryEntryBytes,
                                          story.has_more_entries));
  return std::optional<ExecutionStory>(std::move(story));
}

Json to_json(const HistoryRow& row) {
  const auto& [started, ended] = row.numbers;
  Json members = {{"Id", started.id},
                  {"Tenant", valid_utf8(started.tenant)},
                  {"Language", valid_utf8(started.language)},
                  {"Policy", valid_utf8(started.policy)},
                  {"StartedUSec", counted(started.at_ms * 1000)},
                  {"CodeBytes", started.code_bytes},
                  {"Outcome", ended.outcome.empty() ? std::string("running") : valid_utf8(ended.outcome)}};
  if (started.uid) members["UID"] = uint64_t{*started.uid};
  if (!started.principal.empty()) members["Principal"] = valid_utf8(started.principal);
  if (!row.is_measured) return members;
  for_each_fact(ended, [&members](const ExecutionFact& fact, auto value) {
    const auto number = static_cast<int64_t>(value);
    if (fact.bus_member.empty() || number == kCpuUnknown || (number == 0 && fact.zero == ZeroMeans::unknown)) return;
    members[std::string(fact.bus_member)] = counted(number);
  });
  return members;
}

Json to_json(const ExecutionStory& story) {
  Json members = to_json(story.row);
  if (story.row.is_measured) {
    const Ledger& ledger = story.row.numbers.ended.ledger;
    Json& shown = members["Ledger"];
    for_each_ledger_fact([&](const ExecutionFact& fact, uint64_t Ledger::*member) {
      if (fact.totalled == Totalled::yes_and_in_record) shown[std::string(fact.column)] = ledger.*member;
    });
    shown["kept_out_bytes"] = ledger.withheld_bytes();
    shown["kept_out_tokens"] = ledger.withheld_tokens();
  }
  if (story.details) {
    members["Start"] = valid_utf8(story.details->start);
    members["Message"] = valid_utf8(story.details->message);
    members["Receipt"] = valid_utf8(story.details->receipt);
    auto files = parse_json(story.details->files.empty() ? "{}" : story.details->files, kMaxFilesDepth);
    members["Files"] = files && files->is_object() ? *std::move(files) : Json::object();
  }
  members["Calls"] = Json::array();
  for (const ChainEntry& line : story.entries) {
    Json item = to_json(line);
    item["details"] = valid_utf8(line.entry.shape);
    for (const char* key : {"hash", "version", "tenant", "pid"}) item.erase(key);
    if (item["uid"].is_null()) item.erase("uid");  // D-Bus has no null
    members["Calls"].push_back(std::move(item));
  }
  members["MoreCalls"] = story.has_more_entries;
  return members;
}

}  // namespace journal
