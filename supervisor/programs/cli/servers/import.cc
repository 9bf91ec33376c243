// `warder servers import`: the servers of an MCP client's configuration file.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <set>
#include <utility>

#include "supervisor/base/json/json.h"
#include "supervisor/programs/cli/admin/command.h"
#include "supervisor/programs/cli/indented_json.h"
#include "supervisor/programs/cli/servers/add.h"
#include "supervisor/programs/cli/servers/client_file.h"
#include "supervisor/programs/cli/socket.h"
#include "supervisor/programs/cli/terminal.h"

namespace admin {
namespace {

// The servers of --only, or all. Errors: not_found: a name of --only.
Result<std::vector<ClientServer>> chosen_servers(const ParsedCommand& command, std::vector<ClientServer> all) {
  const auto only = command.values("only");
  if (only.empty()) return all;
  for (const auto& name : only)
    if (std::none_of(all.begin(), all.end(), [&name](const auto& item) { return item.name == name; }))
      return fail(Code::not_found, "the file has no server named '" + name + "'", "leave out --only to see them all");
  std::erase_if(all,
                [&only](const auto& item) { return std::find(only.begin(), only.end(), item.name) == only.end(); });
  return all;
}

// Adds the obstacles that only the configuration shows: a taken name, an entry that warderd refuses.
void check_entries(const ServerDropIns& files, std::vector<ClientServer>& servers) {
  std::set<std::string> names;
  for (auto& server : servers) {
    if (!names.insert(server.name).second) {
      server.obstacles.push_back("another server of the file has this name");
      continue;
    }
    if (!server.obstacles.empty()) continue;
    if (const auto checked = files.check(server.name, server.entry, NameConflict::refuse); !checked)
      server.obstacles.push_back(checked.error().what +
                                 (checked.error().hint.empty() ? "" : " (" + checked.error().hint + ")"));
  }
}

std::string shown_command(const ClientServer& server) {
  if (server.entry.contains("url")) return server.entry["url"].get<std::string>();
  std::string line = server.entry.value("command", "");
  for (const Json& word : server.entry.value("args", Json::array())) line += " " + word.get<std::string>();
  return line;
}

Json reported_server(const ClientServer& server) {
  Json item = {
      {"name", server.name}, {"entry", server.entry}, {"obstacles", server.obstacles}, {"notes", server.notes}};
  if (!server.from.empty()) item["project"] = server.from;
  return item;
}

void print_plan(const std::vector<ClientServer>& servers) {
  for (const bool works : {true, false}) {
    bool first = true;
    for (const auto& server : servers) {
      if (server.obstacles.empty() != works) continue;
      if (std::exchange(first, false))
        cli::print_text(stdout, works ? "would be added:\n" : "cannot work in a jail:\n");
      std::string text = fmt::format("  {}: {}\n", server.name, shown_command(server));
      if (!server.from.empty()) text += fmt::format("      of the project {}\n", server.from);
      for (const auto& why : server.obstacles) text += "      " + why + "\n";
      for (const auto& note : server.notes) text += "      note: " + note + "\n";
      cli::print_text(stdout, text);
    }
  }
}

// A closed input or any other word than yes is a no.
bool is_confirmed(const ParsedCommand& command, size_t count) {
  if (command.has("yes")) return true;
  if (!::isatty(STDIN_FILENO)) {
    cli::print_text(stderr, "nothing was added: --yes adds them without a question\n");
    return false;
  }
  cli::print_text(stdout, fmt::format("add {} {}? [y/N] ", count, count == 1 ? "server" : "servers"));
  std::fflush(stdout);
  char line[16] = {};
  if (!std::fgets(line, sizeof line, stdin)) return false;
  return std::string_view(line) == "y\n" || std::string_view(line) == "yes\n";
}

// An ordinary user adds servers only to the own daemon.
bool has_own_daemon(const ParsedCommand& command) {
  return ::geteuid() == 0 || command.has("config") ||
         cli::find_socket(command.socket).source == cli::SocketSource::user;
}

void print_for_administrator(const std::vector<ClientServer>& servers) {
  Json entries = Json::object();
  for (const auto& server : servers)
    if (server.obstacles.empty()) entries[server.name] = server.entry;
  if (entries.empty()) return;
  cli::print_text(stderr,
                  "this user has no own daemon. An administrator can run this command with this file, or write "
                  "these lines to /etc/warder/warderd.json.d/50-servers.json:\n");
  cli::print_text(stdout, indented_json(Json{{"servers", entries}}));
}

}  // namespace

Result<int> import_servers(const ParsedCommand& command) {
  const std::string& path = command.words.front();
  TRY(const ClientText file, read_client_text(path));
  auto read = read_client_servers(file.text, ImportSurroundings::here(file.owner));
  if (!read) return tl::unexpected<Error>(std::move(read).error().within(path));
  TRY(auto servers, chosen_servers(command, *std::move(read)));
  const ServerDropIns files = ServerDropIns::read(command);
  if (has_own_daemon(command)) CHECKED(check_daemons_files(command, RunningDaemon::find(command), files));
  check_entries(files, servers);
  if (command.json) {
    Json report = Json::array();
    for (const auto& server : servers) report.push_back(reported_server(server));
    print_json(report);
  } else {
    print_plan(servers);
  }
  const auto usable = static_cast<size_t>(
      std::count_if(servers.begin(), servers.end(), [](const auto& item) { return item.obstacles.empty(); }));
  if (usable == 0) {
    if (!command.json) cli::print_text(stderr, "the file has no server that can be added\n");
    return 1;
  }
  if (!has_own_daemon(command)) {
    print_for_administrator(servers);
    return 0;
  }
  if (command.json && !command.has("yes")) return 0;
  if (!is_confirmed(command, usable)) return 1;
  int status = 0;
  for (const auto& server : servers) {
    if (!server.obstacles.empty()) continue;
    const auto added = add_entry(command, server.name, server.entry, NameConflict::refuse);
    const auto item = added ? report_added(command, *added) : Result<int>(tl::unexpected<Error>(added.error()));
    if (!item)
      cli::print_text(stderr, server.name + ": " + item.error().what + "\n");  // the others are added all the same
    status = std::max(status, item ? *item : 1);
  }
  return status;
}
const ProgramOfCommand kImportServers{"servers import", import_servers};

}  // namespace admin
