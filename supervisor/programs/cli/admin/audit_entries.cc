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

struct AskedEntries {
  std::string file;
  journal::AuditFilter filter;
  uint64_t limit = 0;
};

Result<AskedEntries> read_asked_entries(const ParsedCommand& given, uint64_t standard) {
  AskedEntries asked;
  asked.file = journal_file(given.words.empty() ? kStandardState : given.words.front());
  asked.filter.account = given.value("tenant", "");
  if (given.has("kind")) {
    const std::string kind = given.value("kind", "");
    asked.filter.kind = journal::parse_kind(kind);
    if (!asked.filter.kind)
      return fail(Code::invalid, "--kind: '" + kind + "' is not a kind of entry",
                  "use call, refusal, approval or own (entries of the journal about itself)");
  }
  for (const char* flag : {"since", "until"}) {
    if (!given.has(flag)) continue;
    const std::string name = std::string("--") + flag;
    TRY(const int64_t ms, parse_time(name.c_str(), given.value(flag, ""), journal::now_ms()));
    (name == "--since" ? asked.filter.since_ms : asked.filter.until_ms) = ms;
  }
  const std::string limit = given.value("limit", std::to_string(standard));
  const char* const end = limit.data() + limit.size();
  const auto number = std::from_chars(limit.data(), end, asked.limit);
  if (number.ec != std::errc() || number.ptr != end || asked.limit == 0 || asked.limit > kMaxEntries)
    return fail(Code::invalid, "--limit: '" + limit + "' is not a number from 1 to 1000000000");
  return asked;
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
Result<std::deque<journal::ChainEntry>> newest_entries(journal::Database& database, const AskedEntries& asked) {
  std::deque<journal::ChainEntry> found;
  const auto take = [&](const journal::ChainEntry& line) {
    found.push_front(line);
    return found.size() < asked.limit;
  };
  CHECKED(journal::each_entry(database, asked.filter, journal::EntryOrder::newest_first, take));
  return found;
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

Result<int> follow_entries(AskedEntries asked, bool as_json) {
  ino_t inode = inode_of(asked.file);
  for (;;) {
    TRY(journal::Database database, open_journal(asked.file));
    while (inode_of(asked.file) == inode) {
      TRY(const bool is_read, print_new_entries(database, asked.filter, as_json));
      if (!is_read) return 1;
      CHECKED(database.execute("ROLLBACK"));  // the next look sees later entries
      ::poll(nullptr, 0, kLookForEntriesMs);
      CHECKED(database.execute("BEGIN"));
    }
    inode = inode_of(asked.file);
    asked.filter.after = 0;  // a new journal has a new chain
  }
}

}  // namespace

Result<int> list_audit(const ParsedCommand& given) {
  TRY(const AskedEntries asked, read_asked_entries(given, kStandardEntries));
  TRY(journal::Database database, open_journal(asked.file));
  uint64_t shown = 0;
  const auto take = [&](const journal::ChainEntry& line) {
    return print_entry(line, given.json) && ++shown < asked.limit;
  };
  CHECKED(journal::each_entry(database, asked.filter, journal::EntryOrder::newest_first, take));
  return 0;
}

Result<int> export_audit(const ParsedCommand& given) {
  if (const std::string format = given.value("format", "json"); format != "json")
    return fail(Code::invalid, "--format: '" + format + "' is not a format", "use json: one object a line");
  TRY(const AskedEntries asked, read_asked_entries(given, kMaxEntries));
  TRY(journal::Database database, open_journal(asked.file));
  uint64_t shown = 0;
  const auto take = [&](const journal::ChainEntry& line) { return print_entry(line, true) && ++shown < asked.limit; };
  CHECKED(journal::each_entry(database, asked.filter, journal::EntryOrder::oldest_first, take));
  return std::fflush(stdout) == 0 && !std::ferror(stdout) ? 0 : 1;
}

Result<int> tail_audit(const ParsedCommand& given) {
  TRY(AskedEntries asked, read_asked_entries(given, kStandardTail));
  {
    TRY(journal::Database database, open_journal(asked.file));
    // Entries that come later have greater numbers than the last one of the whole chain.
    journal::AuditFilter all;
    const auto take_last = [&](const journal::ChainEntry& line) {
      all.after = line.number;
      return false;
    };
    CHECKED(journal::each_entry(database, {}, journal::EntryOrder::newest_first, take_last));
    TRY(const auto newest, newest_entries(database, asked));
    for (const auto& line : newest)
      if (!print_entry(line, given.json)) return 1;
    std::fflush(stdout);
    asked.filter.after = all.after;
  }
  if (!given.has("follow")) return 0;
  return follow_entries(std::move(asked), given.json);
}

}  // namespace admin
