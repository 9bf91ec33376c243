// `warder reload`, `warder drain` and `warder log-level`: act on the daemon itself.
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "supervisor/base/text_lines.h"
#include "supervisor/programs/cli/admin/bus_client.h"
#include "supervisor/programs/cli/admin/command.h"
#include "supervisor/programs/cli/terminal.h"

namespace admin {
namespace {

constexpr int kEndLookMs = 100;

std::vector<std::string> policies_in(const Json& properties) {
  std::vector<std::string> names;
  if (const Json& list = member(properties, "Policies"); list.is_array())
    for (const Json& item : list) names.push_back(text(item));
  return names;
}

// The names of `all` that `peers` lacks.
std::vector<std::string> names_beside(const std::vector<std::string>& all, const std::vector<std::string>& peers) {
  std::vector<std::string> names;
  for (const auto& name : all)
    if (std::find(peers.begin(), peers.end(), name) == peers.end()) names.push_back(name);
  return names;
}

std::string joined(const std::vector<std::string>& names) {
  std::string all;
  for (const auto& name : names) all += (all.empty() ? "" : ", ") + name;
  return all.empty() ? "none" : all;
}

void print_line(const std::string& line) { cli::print_text(stdout, cli::for_terminal(line) + "\n"); }

// The problems of a failed reload, each a line of the daemon's text.
int report_failure(const ParsedCommand& command, const Error& error) {
  const auto problems = lines_in(error.what, EmptyLines::left_out);
  if (command.json) {
    print_json({{"reloaded", false}, {"problems", problems}});
    return 1;
  }
  for (const auto& problem : problems) cli::print_text(stderr, "warder reload: " + problem + "\n");
  cli::print_text(stderr, "  nothing was changed: the daemon works on as before\n");
  return 1;
}

// What became of a reload without an answer. A call that timed out stays with warderd, which may only stand still.
Error no_answer(Error error, bool was_requested) {
  if (error.err != ETIMEDOUT) return error;
  if (!was_requested) {
    error.what += ", so it was not asked to reload";
  } else {
    error.what += "; it has the request, and reloads when it goes on";
    error.hint = "journalctl -u warder says when it does, and how it ended";
  }
  return error;
}

// Waits until another daemon, or none, has the name on the bus.
void await_end(const BusClient& warderd, const std::string& connection) {
  while (warderd.daemon_connection() == connection) ::poll(nullptr, 0, kEndLookMs);
}

}  // namespace

Result<int> run_reload(const ParsedCommand& command) {
  TRY(BusClient warderd, BusClient::connect(command.bus));
  auto before = warderd.properties(kPath, kManager);
  if (!before) return tl::unexpected<Error>(no_answer(std::move(before).error(), false));
  auto reloaded = warderd.call(kPath, kManager, "Reload");
  if (!reloaded && reloaded.error().code == Code::unavailable)
    return tl::unexpected<Error>(no_answer(std::move(reloaded).error(), true));
  if (!reloaded) return report_failure(command, reloaded.error());
  TRY(const Json after, warderd.properties(kPath, kManager));
  const auto old_names = policies_in(*before), names = policies_in(after);
  const auto added = names_beside(names, old_names), removed = names_beside(old_names, names);
  if (command.json) {
    print_json({{"reloaded", true}, {"policies", names}, {"added", added}, {"removed", removed}});
    return 0;
  }
  print_line("reloaded; policies: " + joined(names));
  if (!added.empty()) print_line("new: " + joined(added));
  if (!removed.empty())
    print_line("removed: " + joined(removed) + "; where a file is still there, warder config check says why");
  return 0;
}
const ProgramOfCommand kRunReload{"reload", run_reload};

Result<int> run_drain(const ParsedCommand& command) {
  TRY(BusClient warderd, BusClient::connect(command.bus));
  TRY(const Json before, warderd.properties(kPath, kManager));
  const uint64_t remaining =
      number(before, "Running") + number(before, "Starting") + number(before, "Waiting") + number(before, "Frozen");
  const std::string connection = warderd.daemon_connection();
  CHECKED(warderd.call(kPath, kManager, "Drain"));
  const bool waits = command.has("wait");
  if (!command.json) {
    print_line("warderd takes no new calls and ends after those under way: " + std::to_string(remaining) +
               " executions");
    if (!waits) print_line("as a service it starts again with the next call, unless warder.socket is stopped, too");
    std::fflush(stdout);
  }
  if (waits) {
    await_end(warderd, connection);
    if (!command.json) print_line("warderd has ended");
  }
  if (command.json) print_json({{"draining", true}, {"executions", remaining}, {"ended", waits}});
  return 0;
}
const ProgramOfCommand kRunDrain{"drain", run_drain};

Result<int> run_log_level(const ParsedCommand& command) {
  constexpr char kLogPath[] = "/org/freedesktop/LogControl1", kLogControl[] = "org.freedesktop.LogControl1";
  constexpr const char* kLevels[] = {"error", "warning", "notice", "info", "debug"};
  if (!command.words.empty() &&
      std::find(std::begin(kLevels), std::end(kLevels), command.words[0]) == std::end(kLevels))
    return fail(Code::invalid, "'" + command.words[0] + "' is not a log level",
                "use error, warning, notice, info or debug, for example: warder log-level debug");
  TRY(BusClient warderd, BusClient::connect(command.bus));
  TRY(const Json properties, warderd.properties(kLogPath, kLogControl));
  const std::string read = text(properties, "LogLevel");
  const std::string before = read == "err" ? "error" : read;
  const std::string level = command.words.empty() ? before : command.words[0];
  if (!command.words.empty()) CHECKED(warderd.call(kPath, kManager, "SetLogLevel", {"s", {level}}));
  if (command.json) {
    print_json({{"level", level}, {"before", before}});
  } else if (command.words.empty()) {
    print_line(level);
  } else {
    print_line("the log level is " + level + " until warderd ends; it was " + before);
  }
  return 0;
}
const ProgramOfCommand kRunLogLevel{"log-level", run_log_level};

}  // namespace admin
