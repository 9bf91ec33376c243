// `warder token add`, `list`, `remove` and `check`.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <iostream>

#include "policies/policy_parts.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/log.h"
#include "supervisor/programs/cli/admin/command.h"
#include "supervisor/programs/cli/admin/text.h"
#include "supervisor/programs/cli/admin/values.h"
#include "supervisor/programs/cli/servers/running_daemon.h"
#include "supervisor/programs/cli/terminal.h"
#include "supervisor/programs/cli/tokens/token_files.h"
#include "supervisor/protocol/credentials/access_token.h"
#include "supervisor/protocol/credentials/token_table.h"

namespace admin {
namespace {

using credentials::StoredToken;
using credentials::WallTime;

constexpr int64_t kMaxDays = 36'500;
constexpr size_t kMaxTyped = 4096;  // bytes of a token from standard input

tl::unexpected<Error> wrong_expiry(const std::string& text) {
  return fail(Code::invalid, fmt::format("--expires: '{}' is no time in the future", printable(text, 64)),
              "for example 90d, 12h, 30m, 2027-01-01 or 2027-01-01T00:00:00Z");
}

// "90d" from now; "2027-01-01", its first second; "2027-01-01T00:00:00Z".
Result<WallTime> parse_expiry(const std::string& text, WallTime now) {
  WallTime expires = now;
  if (const size_t digits = text.find_first_not_of("0123456789"); digits > 0 && digits + 1 == text.size()) {
    const std::string_view units = "mhd";
    constexpr int64_t kSeconds[] = {60, 3600, 86'400};
    const size_t unit = units.find(text.back());
    int64_t number = 0;
    const auto read = std::from_chars(text.data(), text.data() + digits, number);
    if (unit == units.npos || read.ec != std::errc() || number > kMaxDays * 86'400 / kSeconds[unit])
      return wrong_expiry(text);
    expires = now + std::chrono::seconds(number * kSeconds[unit]);
  } else {
    const auto time = credentials::parse_wall_time(text.size() == 10 ? text + "T00:00:00Z" : text);
    if (!time) return wrong_expiry(text);
    expires = *time;
  }
  if (expires <= now) return wrong_expiry(text);
  return expires;
}

std::string expiry_text(const StoredToken& token) {
  return token.expires ? credentials::wall_time_text(*token.expires) : "never";
}

void say_not_reloaded(const char* kind) {
  cli::print_text(stderr, fmt::format("no daemon runs: {} at its next start\n", kind));
}

Json token_json(const StoredToken& token, const TokenFiles& files) {
  const auto assigned = files.assignment_of(token.name);
  Json report = {{"name", token.name}, {"expired", token.is_expired(credentials::rights_now())}};
  report["tenant"] = assigned ? Json(assigned->tenant) : Json();
  report["policy"] = assigned ? Json(policies::name_of(*assigned->policy)) : Json();
  report["created"] = token.created ? Json(credentials::wall_time_text(*token.created)) : Json();
  report["expires"] = token.expires ? Json(credentials::wall_time_text(*token.expires)) : Json();
  return report;
}

}  // namespace

Result<int> add_token(const ParsedCommand& command) {
  const std::string& name = command.words.front();
  const WallTime now = credentials::rights_now();
  const std::string token = credentials::new_access_token();
  Json entry = {{"hash", credentials::hash_of_token(token)}, {"created", credentials::wall_time_text(now)}};
  if (command.has("expires")) {
    TRY(const WallTime expires, parse_expiry(command.value("expires", ""), now));
    entry["expires"] = credentials::wall_time_text(expires);
  }
  for (const char* key : {"tenant", "policy"})
    if (command.has(key)) entry[key] = command.value(key, "");
  TRY(TokenFiles files, TokenFiles::read(command));
  TRY(const policies::Assignment assigned, files.check_new(name, entry));
  const RunningDaemon daemon = RunningDaemon::find(command);
  CHECKED(daemon.expect_same_configuration(files.configuration()));
  CHECKED(files.write(name, entry));
  auto reloaded = daemon.reload(command, files.configuration());
  if (!reloaded) {
    TRY(const TokenFiles token_files, TokenFiles::read(command));
    CHECKED(token_files.remove(name));
    reloaded.error().code = Code::internal;
    return tl::unexpected<Error>(std::move(reloaded).error().within("no token was made, because the reload failed"));
  }
  const bool runs = *reloaded == RunningDaemon::Reloaded::yes;
  if (command.json) {
    print_json({{"name", name},
                {"token", token},
                {"tenant", assigned.tenant},
                {"policy", policies::name_of(*assigned.policy)},
                {"expires", entry.contains("expires") ? entry["expires"] : Json()},
                {"file", files.file_of(name)},
                {"reloaded", runs}});
    return 0;
  }
  cli::print_text(stderr,
                  fmt::format("{}: tenant {}, policy {}, {}; the token is shown only now:\n", name, assigned.tenant,
                              policies::name_of(*assigned.policy),
                              entry.contains("expires") ? "expires " + text(entry, "expires") : "never expires"));
  cli::print_text(stdout, token + "\n");
  if (!runs) say_not_reloaded("the token is good");
  return 0;
}
const ProgramOfCommand kAddToken{"token add", add_token};

Result<int> list_tokens(const ParsedCommand& command) {
  TRY(const TokenFiles files, TokenFiles::read(command));
  if (command.json) {
    Json all = Json::array();
    for (const auto& token : files.tokens()) all.push_back(token_json(token, files));
    print_json(all);
    return 0;
  }
  std::vector<Line> lines;
  for (const auto& token : files.tokens()) {
    const auto assigned = files.assignment_of(token.name);
    const bool is_expired = token.is_expired(credentials::rights_now());
    lines.push_back({token.name, assigned ? assigned->tenant : "- (no rule fits)",
                     assigned ? policies::name_of(*assigned->policy) : "-",
                     token.created ? credentials::wall_time_text(*token.created) : "-",
                     expiry_text(token) + (is_expired ? " (expired)" : "")});
  }
  const std::vector<Column> columns = {
      {"NAME"}, {"TENANT", Align::left, Fit::shrinks}, {"POLICY"}, {"CREATED"}, {"EXPIRES"}};
  for (const auto& line : table(columns, lines, terminal_width())) cli::print_text(stdout, line + "\n");
  return 0;
}
const ProgramOfCommand kListTokens{"token list", list_tokens};

Result<int> remove_token(const ParsedCommand& command) {
  Json report = Json::array();
  for (const auto& name : command.words) {
    TRY(const TokenFiles files, TokenFiles::read(command));
    const RunningDaemon daemon = RunningDaemon::find(command);
    CHECKED(daemon.expect_same_configuration(files.configuration()));
    CHECKED(files.remove(name));
    // A token that must go does not come back because of a mistake elsewhere.
    auto reloaded = daemon.reload(command, files.configuration());
    if (!reloaded) {
      reloaded.error().code = Code::internal;
      return tl::unexpected<Error>(std::move(reloaded).error().within(fmt::format(
          "the token '{}' is removed from the files, but the daemon still takes it: its reload failed", name)));
    }
    const bool runs = *reloaded == RunningDaemon::Reloaded::yes;
    report.push_back({{"name", name}, {"reloaded", runs}});
    if (command.json) continue;
    cli::print_text(stdout, fmt::format("{}: removed\n", name));
    if (!runs) say_not_reloaded("the token is refused");
  }
  if (command.json) print_json(report);
  return 0;
}
const ProgramOfCommand kRemoveToken{"token remove", remove_token};

Result<int> check_token(const ParsedCommand& command) {
  std::string typed;
  std::getline(std::cin, typed);
  typed = typed.substr(0, kMaxTyped);
  while (!typed.empty() && (typed.back() == '\r' || typed.back() == ' ')) typed.pop_back();
  if (auto formed = credentials::check_access_token(typed); !formed) {
    formed.error().code = Code::not_found;  // exit status 1
    return tl::unexpected<Error>(std::move(formed).error());
  }
  TRY(const TokenFiles files, TokenFiles::read(command));
  const credentials::TokenTable table{files.tokens()};
  const StoredToken* token = table.find(typed);
  if (!token)
    return fail(Code::not_found, "the token is well formed, and no token of the configuration",
                "it was removed, or belongs to another machine; warder token add makes a new one");
  const auto assigned = files.assignment_of(token->name);
  const bool is_good = assigned && !token->is_expired(credentials::rights_now());
  if (command.json) {
    print_json(token_json(*token, files));
  } else {
    cli::print_text(stdout, fmt::format("{}: {}, expires {}{}\n", token->name,
                                        assigned ? fmt::format("tenant {}, policy {}", assigned->tenant,
                                                               policies::name_of(*assigned->policy))
                                                 : assigned.error().what,
                                        expiry_text(*token),
                                        token->is_expired(credentials::rights_now()) ? ": it has expired" : ""));
  }
  return is_good ? 0 : 1;
}
const ProgramOfCommand kCheckToken{"token check", check_token};

}  // namespace admin
