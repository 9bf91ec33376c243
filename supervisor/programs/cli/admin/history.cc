// `warder history` and `warder show`: past executions, from the daemon over D-Bus. If no daemon runs, its user and root
// read the journal's file themselves.
#include "supervisor/records/journal/history.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <memory>
#include <variant>

#include "supervisor/base/json/json.h"
#include "supervisor/base/user_lookup.h"
#include "supervisor/programs/cli/admin/bus_client.h"
#include "supervisor/programs/cli/admin/command.h"
#include "supervisor/programs/cli/admin/journal_file.h"
#include "supervisor/programs/cli/admin/story_text.h"
#include "supervisor/programs/cli/admin/text.h"
#include "supervisor/programs/cli/admin/times.h"
#include "supervisor/programs/cli/terminal.h"
#include "supervisor/records/journal/journal.h"

namespace admin {
namespace {

constexpr uint64_t kStandardRows = 50, kHighestRowLimit = 100'000'000;
constexpr int64_t kUsecOfMs = 1000;

// Flags, and the keys of ListHistory.
using FlagKey = std::pair<const char*, const char*>;
constexpr FlagKey kTextFilters[] = {{"tenant", "Tenant"}, {"outcome", "Outcome"}, {"language", "Language"}};
constexpr FlagKey kTimeFilters[] = {{"since", "SinceUSec"}, {"until", "UntilUSec"}};

// Where the executions are read: a daemon, or a file.
using HistorySource = std::variant<BusClient, journal::Database>;

Result<HistorySource> open_file_source(const std::string& file) {
  TRY(journal::Database database, open_journal(file));
  return HistorySource(std::move(database));
}

Result<HistorySource> open_source(const ParsedCommand& command) {
  if (command.has("journal")) return open_file_source(journal_file(command.value("journal", "")));
  auto warderd = BusClient::connect(command.bus);
  if (warderd && warderd->has_daemon()) return HistorySource(*std::move(warderd));
  if (command.bus.empty()) {
    const std::string file = journal_file(kStandardState);
    if (::access(file.c_str(), R_OK) == 0) {
      std::fprintf(stderr, "no warderd runs: read from %s\n", file.c_str());
      return open_file_source(file);
    }
  }
  if (!warderd) return tl::unexpected<Error>(std::move(warderd).error());
  return HistorySource(*std::move(warderd));  // the first call starts an installed daemon
}

Result<uint32_t> user_of(const std::string& text) {
  uint32_t uid = 0;
  const char* const end = text.data() + text.size();
  const auto number = std::from_chars(text.data(), end, uid);
  if (number.ec == std::errc() && number.ptr == end) return uid;
  TRY(const auto user, find_system_user(text));
  if (user) return user->uid;
  return fail(Code::invalid, "--user: there is no user '" + text + "'",
              "give a name of this machine, a number, or token:NAME");
}

// The filter as ListHistory takes it.
Result<Json> read_filter(const ParsedCommand& command) {
  Json filter = Json::object();
  for (const auto& [flag, key] : kTextFilters)
    if (command.has(flag)) filter[key] = command.value(flag, "");
  if (command.has("all")) filter["All"] = true;
  if (const std::string user = command.value("user", ""); user.starts_with("token:")) {
    filter["Principal"] = user;
  } else if (command.has("user")) {
    TRY(const uint32_t uid, user_of(command.value("user", "")));
    filter["UID"] = uint64_t{uid};
  }
  for (const auto& [flag, key] : kTimeFilters) {
    if (!command.has(flag)) continue;
    const std::string name = std::string("--") + flag;
    TRY(const int64_t ms, parse_time(name.c_str(), command.value(flag, ""), journal::now_ms()));
    filter[key] = static_cast<uint64_t>(std::max<int64_t>(ms, 0) * kUsecOfMs);
  }
  return filter;
}

journal::HistoryFilter filter_of_file(const Json& filter, const std::string& after) {
  journal::HistoryFilter read;
  read.account = text(filter, "Tenant");
  read.outcome = text(filter, "Outcome"), read.language = text(filter, "Language");
  if (filter.contains("UID")) read.uid = static_cast<uint32_t>(number(filter, "UID"));
  read.principal = text(filter, "Principal");
  if (filter.contains("SinceUSec")) read.since_ms = static_cast<int64_t>(number(filter, "SinceUSec")) / kUsecOfMs;
  if (filter.contains("UntilUSec")) read.until_ms = static_cast<int64_t>(number(filter, "UntilUSec")) / kUsecOfMs;
  read.after = after;
  return read;
}

struct HistoryAnswer {
  Json rows = Json::array();
  std::string next;
};

Result<HistoryAnswer> next_page(HistorySource& source, Json filter, const std::string& after, uint32_t limit) {
  if (auto* database = std::get_if<journal::Database>(&source)) {
    TRY(journal::HistoryPage page, journal::read_history(*database, filter_of_file(filter, after), limit));
    HistoryAnswer answer{Json::array(), page.next};
    for (const auto& row : page.rows) answer.rows.push_back(journal::to_json(row));
    return answer;
  }
  if (!after.empty()) filter["After"] = after;
  TRY(Json values, std::get<BusClient>(source).call(kPath, kManager, "ListHistory", {"au", {filter, limit}}));
  return HistoryAnswer{element(values, 0), text(element(values, 1))};
}

Result<uint64_t> read_limit(const ParsedCommand& command) {
  const std::string text = command.value("limit", std::to_string(kStandardRows));
  uint64_t limit = 0;
  const char* const end = text.data() + text.size();
  const auto number = std::from_chars(text.data(), end, limit);
  if (number.ec == std::errc() && number.ptr == end && limit > 0 && limit <= kHighestRowLimit) return limit;
  return fail(Code::invalid, "--limit: '" + text + "' is not a number from 1 to 100000000");
}

// The proposal of the execution, if it still has one and this user sees it.
void add_proposal(const BusClient& warderd, Json& record) {
  const auto all = warderd.read(kPath, kManager, "ListProposals", [&record](sd_bus_message* to) {
    return append_arguments(to, {"s", {text(record, "Tenant")}});
  });
  if (!all || !record.is_object()) return;
  for (const Json& item : *all)
    if (text(item, "Execution") == text(record, "Id"))
      record["Proposal"] = {{"Id", text(item, "Id")}, {"State", text(item, "State")}};
}

}  // namespace

Result<int> run_history(const ParsedCommand& command) {
  TRY(const uint64_t limit, read_limit(command));
  TRY(const Json filter, read_filter(command));
  TRY(HistorySource source, open_source(command));
  std::vector<Json> visible;
  std::string after;
  for (uint64_t rows = 0; rows < limit;) {
    const auto max = static_cast<uint32_t>(std::min<uint64_t>(limit - rows, journal::kHistoryRows));
    TRY(const HistoryAnswer page, next_page(source, filter, after, max));
    for (const Json& row : page.rows) {
      if (command.json) {
        print_json(row);
      } else {
        visible.push_back(row);
      }
    }
    rows += page.rows.size();
    if (page.next.empty() || page.next == after || std::ferror(stdout)) break;
    after = page.next;
  }
  if (command.json) return 0;
  for (const auto& line : history_table(visible, terminal_width())) std::printf("%s\n", line.c_str());
  return 0;
}
const ProgramOfCommand kRunHistory{"history", run_history};

Result<int> run_show(const ParsedCommand& command) {
  TRY(HistorySource source, open_source(command));
  const std::string& id = command.words.front();
  Json record;
  if (auto* database = std::get_if<journal::Database>(&source)) {
    TRY(auto story, journal::read_story(*database, "", id));
    if (!story)
      return fail(Code::not_found, "no stored execution has an id that begins with '" + valid_utf8(id) + "'",
                  "warder history lists them");
    record = journal::to_json(*story);
  } else {
    TRY(record, std::get<BusClient>(source).call(kPath, kManager, "GetRecord", {"s", {id}}));
    add_proposal(std::get<BusClient>(source), record);
  }
  if (command.json) {
    print_json(with_parsed_receipt(std::move(record)));
  } else {
    cli::print_text(stdout, story_text(record));
  }
  return 0;
}
const ProgramOfCommand kRunShow{"show", run_show};

}  // namespace admin
