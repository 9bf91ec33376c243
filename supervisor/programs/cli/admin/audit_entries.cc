// `warder audit list`, `export` and `tail`: entries of the audit chain, read from the journal's file, whether a daemon
// runs or not. `export` and --json print one JSON object a line, with the keys of journal::to_json(ChainEntry).
#include "supervisor/records/journal/audit_entries.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <deque>

#include "supervisor/base/json/json_value.h"
#include "supervisor/programs/cli/admin/command.h"
#include "supervisor/programs/cli/admin/journal_file.h"
#include "supervisor/programs/cli/admin/text.h"
#include "supervisor/programs/cli/admin/times.h"
#include "supervisor/programs/cli/admin/values.h"
#include "supervisor/records/journal/journal.h"

namespace admin {
namespace {

constexpr uint64_t kStandardEntries = 50, kStandardTail = 10, kMaxEntries = 1'000'000'000;
constexpr int kLookForEntriesMs = 300;

struct RequestedEntries {
  std::string file;
  journal::AuditFilter filter;
  uint64_t limit = 0;
};

Result<RequestedEntries> read_requested_entries(const ParsedCommand& command, uint64_t standard) {
  RequestedEntries entries;
  entries.file = journal_file(command.words.empty() ? kStandardState : command.words.front());
  entries.filter.account = command.value("tenant", "");
  if (command.has("kind")) {
    const std::string kind = command.value("kind", "");
    entries.filter.kind = journal::parse_kind(kind);
    if (!entries.filter.kind)
      return fail(Code::invalid, "--kind: '" + kind + "' is not a kind of entry",
                  "use call, refusal, approval or own (entries of the journal about itself)");
  }
  for (const char* flag : {"since", "until"}) {
    if (!command.has(flag)) continue;
    const std::string name = std::string("--") + flag;
    TRY(const int64_t ms, parse_time(name.c_str(), command.value(flag, ""), journal::now_ms()));
    (name == "--since" ? entries.filter.since_ms : entries.filter.until_ms) = ms;
  }
  const std::string limit = command.value("limit", std::to_string(standard));
  const char* const end = limit.data() + limit.size();
  const auto number = std::from_chars(limit.data(), end, entries.limit);
  if (number.ec != std::errc() || number.ptr != end || entries.limit == 0 || entries.limit > kMaxEntries)
    return fail(Code::invalid, "--limit: '" + limit + "' is not a number from 1 to 1000000000");
  return entries;
}

std::string entry_line(const journal::ChainEntry& line) {
  const journal::AuditEntry& entry = line.entry;
  const std::string times = entry.count > 1 ? fmt::format(" ({} times)", entry.count) : "";
  return harmless(fmt::format("{}  {}  {}  {}  {}  {} {}{}  {}", line.number, journal::utc_time(entry.at_ms),
                              entry.tenant.empty() ? "-" : entry.tenant, journal::principal_of(entry),
                              journal::kind_name(entry.kind), entry.action, entry.subject, times, entry.shape));
}

// False: nobody reads any longer.
bool print_entry(const journal::ChainEntry& line, bool as_json) {
  if (as_json) {
    print_json(journal::to_json(line));
  } else {
    std::printf("%s\n", entry_line(line).c_str());
  }
  return !std::ferror(stdout);
}

// The newest entries that fit, at most `asked.limit`, oldest first.
Result<std::deque<journal::ChainEntry>> newest_entries(journal::Database& database, const RequestedEntries& request) {
  std::deque<journal::ChainEntry> entries;
  const auto take = [&](const journal::ChainEntry& line) {
    entries.push_front(line);
    return entries.size() < request.limit;
  };
  CHECKED(journal::each_entry(database, request.filter, journal::EntryOrder::newest_first, take));
  return entries;
}

// Which file it is: a journal that was set aside has another one in its place.
ino_t inode_of(const std::string& file) {
  struct stat status {};
  return ::stat(file.c_str(), &status) == 0 ? status.st_ino : 0;
}

// Prints the entries behind `filter.after`, and moves it on.
Result<bool> print_new_entries(journal::Database& database, journal::AuditFilter& filter, bool as_json) {
  bool is_read = true;
  const auto take = [&](const journal::ChainEntry& line) {
    filter.after = line.number;
    is_read = print_entry(line, as_json);
    return is_read;
  };
  CHECKED(journal::each_entry(database, filter, journal::EntryOrder::oldest_first, take));
  std::fflush(stdout);
  return is_read && !std::ferror(stdout);
}

Result<int> follow_entries(RequestedEntries entries, bool as_json) {
  ino_t inode = inode_of(entries.file);
  for (;;) {
    TRY(journal::Database database, open_journal(entries.file));
    while (inode_of(entries.file) == inode) {
      TRY(const bool is_read, print_new_entries(database, entries.filter, as_json));
      if (!is_read) return 1;
      CHECKED(database.execute("ROLLBACK"));  // the next look sees later entries
      ::poll(nullptr, 0, kLookForEntriesMs);
      CHECKED(database.execute("BEGIN"));
    }
    inode = inode_of(entries.file);
    entries.filter.after = 0;  // a new journal has a new chain
  }
}

}  // namespace

Result<int> list_audit(const ParsedCommand& command) {
  TRY(const RequestedEntries entries, read_requested_entries(command, kStandardEntries));
  TRY(journal::Database database, open_journal(entries.file));
  uint64_t shown_count = 0;
  const auto take = [&](const journal::ChainEntry& line) {
    return print_entry(line, command.json) && ++shown_count < entries.limit;
  };
  CHECKED(journal::each_entry(database, entries.filter, journal::EntryOrder::newest_first, take));
  return 0;
}
const ProgramOfCommand kListAudit{"audit list", list_audit};

Result<int> export_audit(const ParsedCommand& command) {
  if (const std::string format = command.value("format", "json"); format != "json")
    return fail(Code::invalid, "--format: '" + format + "' is not a format", "use json: one object a line");
  TRY(const RequestedEntries entries, read_requested_entries(command, kMaxEntries));
  TRY(journal::Database database, open_journal(entries.file));
  uint64_t shown_count = 0;
  const auto take = [&](const journal::ChainEntry& line) {
    return print_entry(line, true) && ++shown_count < entries.limit;
  };
  CHECKED(journal::each_entry(database, entries.filter, journal::EntryOrder::oldest_first, take));
  return std::fflush(stdout) == 0 && !std::ferror(stdout) ? 0 : 1;
}
const ProgramOfCommand kExportAudit{"audit export", export_audit};

Result<int> tail_audit(const ParsedCommand& command) {
  TRY(RequestedEntries entries, read_requested_entries(command, kStandardTail));
  {
    TRY(journal::Database database, open_journal(entries.file));
    // Entries that come later have greater numbers than the last one of the whole chain.
    journal::AuditFilter all;
    const auto take_last = [&](const journal::ChainEntry& line) {
      all.after = line.number;
      return false;
    };
    CHECKED(journal::each_entry(database, {}, journal::EntryOrder::newest_first, take_last));
    TRY(const auto newest, newest_entries(database, entries));
    for (const auto& line : newest)
      if (!print_entry(line, command.json)) return 1;
    std::fflush(stdout);
    entries.filter.after = all.after;
  }
  if (!command.has("follow")) return 0;
  return follow_entries(std::move(entries), command.json);
}
const ProgramOfCommand kTailAudit{"audit tail", tail_audit};

}  // namespace admin
