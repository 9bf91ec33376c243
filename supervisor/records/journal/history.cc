#include "supervisor/records/journal/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "policies/tenant_id.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"

namespace journal {
namespace {

constexpr size_t kMaxIdBytes = 64, kIdsTold = 5;
constexpr int kMaxFilesDepth = 3;

// A page goes down the index by time from a place in it: the time and the number of the last row before. The place is
// not stable against a clock that was set back; then a row may be seen twice, or not at all.
struct PagePlace {
  int64_t ms = INT64_MAX, number = INT64_MAX;
};

#define HISTORY_ROWS                                                                                              \
  "SELECT number, started_ms, id, tenant, language, policy, outcome, uid, code_bytes, wall_us, took_us, cpu_us, " \
  "memory_peak_bytes, processes_peak, returned_bytes, printed_bytes, fetched_bytes, definitions_avoided_bytes, "  \
  "read_bytes, returned_tokens, printed_tokens, fetched_tokens, definitions_avoided_tokens, read_tokens, "        \
  "principal FROM executions "
constexpr char kAllHistory[] = HISTORY_ROWS
    "WHERE started_ms<=?1 AND started_ms>=?3 AND (started_ms, number)<(?1, ?2) "
    "ORDER BY started_ms DESC, number DESC LIMIT ?4";
constexpr char kAccountHistory[] = HISTORY_ROWS
    "WHERE account=?5 AND started_ms<=?1 AND started_ms>=?3 AND (started_ms, number)<(?1, ?2) "
    "ORDER BY started_ms DESC, number DESC LIMIT ?4";
constexpr char kOfPrefix[] = HISTORY_ROWS "WHERE id>=?1 AND id<?2 ORDER BY id LIMIT ?3";

uint64_t counted(int64_t value) { return value < 0 ? 0 : static_cast<uint64_t>(value); }

HistoryRow history_row_of(const Statement& row) {
  HistoryRow read;
  Begun& begun = read.numbers.begun;
  begun = {row.text(2), row.text(3), row.text(4), row.text(5), counted(row.integer(8)), row.integer(1), {}, {}};
  if (!row.is_null(7)) begun.uid = static_cast<uint32_t>(row.integer(7));
  begun.principal = row.text(24);
  if (begun.principal.empty() && begun.uid) begun.principal = fmt::format("uid:{}", *begun.uid);
  Ended& ended = read.numbers.ended;
  ended.id = begun.id;
  ended.outcome = row.text(6);
  read.is_measured = !row.is_null(9);
  ended.wall_us = row.integer(9), ended.took_us = row.integer(10);
  ended.cpu_us = row.is_null(11) ? kCpuUnknown : row.integer(11);
  ended.memory_peak_bytes = counted(row.integer(12));
  ended.processes_peak = static_cast<uint32_t>(row.integer(13));
  Ledger& ledger = ended.ledger;
  uint64_t* const members[] = {&ledger.returned_bytes,
                               &ledger.printed_bytes,
                               &ledger.fetched_bytes,
                               &ledger.definitions_avoided_bytes,
                               &ledger.read_bytes,
                               &ledger.returned_tokens,
                               &ledger.printed_tokens,
                               &ledger.fetched_tokens,
                               &ledger.definitions_avoided_tokens,
                               &ledger.read_tokens};
  for (int i = 0; i < static_cast<int>(std::size(members)); i++) *members[i] = counted(row.integer(14 + i));
  return read;
}

bool fits(const HistoryFilter& filter, const HistoryRow& row) {
  const auto& [begun, ended] = row.numbers;
  const std::string outcome = ended.outcome.empty() ? "running" : ended.outcome;
  return (filter.outcome.empty() || filter.outcome == outcome) &&
         (filter.language.empty() || filter.language == begun.language) && (!filter.uid || filter.uid == begun.uid) &&
         (filter.principal.empty() || filter.principal == begun.principal);
}

Result<PagePlace> first_place(const HistoryFilter& filter) {
  if (filter.after.empty()) return filter.until_ms ? PagePlace{*filter.until_ms, INT64_MIN} : PagePlace{};
  PagePlace place;
  const char* const end = filter.after.data() + filter.after.size();
  const auto ms = std::from_chars(filter.after.data(), end, place.ms);
  if (ms.ec == std::errc() && ms.ptr != end && *ms.ptr == ':') {
    const auto number = std::from_chars(ms.ptr + 1, end, place.number);
    if (number.ec == std::errc() && number.ptr == end) return place;
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
  const bool good = std::all_of(prefix.begin(), prefix.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
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

// The executions whose ids begin with the prefix, at most kIdsTold + 1.
Result<std::vector<NumberedRow>> rows_of_prefix(Database& database, const std::string& account,
                                                const std::string& prefix) {
  TRY(Statement rows, database.prepare(kOfPrefix));
  rows.bind(prefix).bind(prefix + "\x7f").bind(int64_t{kHistoryExamined} + 1);
  std::vector<NumberedRow> found;
  for (uint32_t examined = 0; found.size() <= kIdsTold; examined++) {
    TRY(bool row, rows.step());
    if (!row) break;
    if (examined == kHistoryExamined)
      return fail(Code::invalid, fmt::format("too many execution ids begin with '{}'", prefix), "give more characters");
    NumberedRow one{rows.integer(0), history_row_of(rows)};
    const std::string_view owner = tenants::account_of(one.row.numbers.begun.tenant);
    if (account.empty() || owner == account) found.push_back(std::move(one));
  }
  return found;
}

Json usec(int64_t us) { return counted(us); }

}  // namespace

Result<HistoryPage> read_history(Database& database, const HistoryFilter& filter, uint32_t limit) {
  CHECKED(check_version_of_history(database));
  TRY(const PagePlace begin, first_place(filter));
  const uint32_t most = limit == 0 ? kHistoryRows : std::min(limit, kHistoryRows);
  TRY(Statement rows, database.prepare(filter.account.empty() ? kAllHistory : kAccountHistory));
  rows.bind(begin.ms).bind(begin.number).bind(filter.since_ms.value_or(INT64_MIN));
  rows.bind(int64_t{kHistoryExamined});
  if (!filter.account.empty()) rows.bind(filter.account);
  HistoryPage page;
  PagePlace last;
  uint32_t examined = 0;
  while (page.rows.size() < most) {
    TRY(bool row, rows.step());
    if (!row) break;
    examined++;
    last = {rows.integer(1), rows.integer(0)};
    HistoryRow read = history_row_of(rows);
    if (fits(filter, read)) page.rows.push_back(std::move(read));
  }
  if (page.rows.size() == most || examined == kHistoryExamined) page.next = fmt::format("{}:{}", last.ms, last.number);
  return page;
}

Result<std::optional<ExecutionStory>> read_story(Database& database, const std::string& account,
                                                 const std::string& prefix) {
  CHECKED(check_version_of_history(database));
  CHECKED(check_prefix(prefix));
  TRY(std::vector<NumberedRow> found, rows_of_prefix(database, account, prefix));
  if (found.empty()) return std::optional<ExecutionStory>();
  const bool is_exact = found.front().row.numbers.begun.id == prefix;  // the first one in the order of ids
  if (found.size() > 1 && !is_exact) {
    std::string ids;
    for (size_t i = 0; i < std::min(found.size(), kIdsTold); i++)
      ids += (i > 0 ? ", " : "") + found[i].row.numbers.begun.id;
    return fail(
        Code::invalid,
        fmt::format("several execution ids begin with '{}': {}{}", prefix, ids, found.size() > kIdsTold ? ", ..." : ""),
        "give more characters");
  }
  ExecutionStory story;
  story.row = std::move(found.front().row);
  TRY(story.details, read_details(database, found.front().number));
  TRY(story.entries, entries_of_execution(database, story.row.numbers.begun.id, kStoryEntries, kStoryEntryBytes,
                                          story.has_more_entries));
  return std::optional<ExecutionStory>(std::move(story));
}

Json to_json(const HistoryRow& row) {
  const auto& [begun, ended] = row.numbers;
  Json members = {{"Id", begun.id},
                  {"Tenant", valid_utf8(begun.tenant)},
                  {"Language", valid_utf8(begun.language)},
                  {"Policy", valid_utf8(begun.policy)},
                  {"StartedUSec", usec(begun.at_ms * 1000)},
                  {"CodeBytes", begun.code_bytes},
                  {"Outcome", ended.outcome.empty() ? std::string("running") : valid_utf8(ended.outcome)}};
  if (begun.uid) members["UID"] = uint64_t{*begun.uid};
  if (!begun.principal.empty()) members["Principal"] = valid_utf8(begun.principal);
  if (!row.is_measured) return members;
  members["WallUSec"] = usec(ended.wall_us);
  members["AnswerUSec"] = usec(ended.took_us);
  if (ended.cpu_us != kCpuUnknown) members["CPUUSec"] = usec(ended.cpu_us);
  members["MemoryPeakBytes"] = ended.memory_peak_bytes;
  if (ended.processes_peak > 0) members["TasksPeak"] = uint64_t{ended.processes_peak};
  return members;
}

Json to_json(const ExecutionStory& story) {
  Json members = to_json(story.row);
  if (story.row.is_measured) {
    const Ledger& ledger = story.row.numbers.ended.ledger;
    members["Ledger"] = {{"returned_bytes", ledger.returned_bytes},   {"printed_bytes", ledger.printed_bytes},
                         {"fetched_bytes", ledger.fetched_bytes},     {"read_bytes", ledger.read_bytes},
                         {"kept_out_bytes", ledger.kept_out_bytes()}, {"kept_out_tokens", ledger.kept_out_tokens()}};
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
    Json one = to_json(line);
    one["details"] = valid_utf8(line.entry.shape);
    for (const char* key : {"hash", "version", "tenant", "pid"}) one.erase(key);
    if (one["uid"].is_null()) one.erase("uid");  // D-Bus has no null
    members["Calls"].push_back(std::move(one));
  }
  members["MoreCalls"] = story.has_more_entries;
  return members;
}

}  // namespace journal
