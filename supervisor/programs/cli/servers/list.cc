// `warder servers list` and `warder servers test`.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "supervisor/base/json/json_value.h"
#include "supervisor/programs/cli/admin/command.h"
#include "supervisor/programs/cli/admin/text.h"
#include "supervisor/programs/cli/admin/times.h"
#include "supervisor/programs/cli/servers/add.h"
#include "supervisor/programs/cli/terminal.h"

namespace admin {
namespace {

const char* configured_place(const upstream::ServerConfig& server) {
  if (server.remote()) return "remote";
  return server.location == upstream::ServerConfig::ServerHost::jail ? "jail" : "host";
}

// What the configuration says; the state is not known.
std::vector<Json> configured_servers(const ServerDropIns& files) {
  std::vector<Json> all;
  for (const auto& server : files.options().servers)
    all.push_back({{"Name", server.name},
                   {"Kind", server.remote() ? "http" : "command"},
                   {"Place", configured_place(server)},
                   {"ImportedFrom", server.imported_from}});
  return all;
}

// An ordinary user without an own configuration asks about the machine's.
ServerDropIns files_to_list(const ParsedCommand& command) {
  ServerDropIns own = ServerDropIns::read(command);
  if (command.has("config") || !own.document().files().empty()) return own;
  ParsedCommand machine = command;
  machine.flags.emplace_back("config", "/etc/warder/warderd.json");
  ServerDropIns files = ServerDropIns::read(machine);
  return files.document().files().empty() ? own : files;
}

// From the daemon, or with a reason from the configuration.
std::vector<Json> listed_servers(const ParsedCommand& command) {
  std::string why = "no daemon runs on this bus";
  const RunningDaemon daemon = RunningDaemon::find(command);
  if (daemon.on_bus() && !command.has("config")) {
    auto servers = daemon.servers();
    if (servers) return *std::move(servers);
    why = servers.error().what;
  }
  const ServerDropIns files = files_to_list(command);
  cli::print_text(stderr,
                  fmt::format("as the configuration has them ({}):\n", command.has("config") ? "--config" : why));
  for (const auto& problem : files.problems()) cli::print_text(stderr, problem + "\n");
  return configured_servers(files);
}

// "needed", "present", "3 tenants", "until 2026-11-26 19:00"; "-": the server needs none.
std::string login_text(const Json& server) {
  const std::string login = text(server, "Login");
  if (login.empty()) return "-";
  const Json until = member(server, "LoginUntilUSec"), logins = member(server, "Logins");
  if (login == "present" && until.is_number_integer() && until > 0)
    return "until " + local_time(until.get<int64_t>() / 1000);
  if (login == "present" && logins.is_number_integer() && logins > 1)
    return std::to_string(logins.get<int64_t>()) + " tenants";
  return login;
}

Line line_of(const Json& server) {
  const bool count = server.contains("State");
  const size_t tools = member(server, "Tools").size();
  return {text(server, "Name"),   text(server, "Kind"),
          text(server, "Place"),  count ? text(server, "State") : "-",
          login_text(server),     count && (text(server, "State") == "idle" || tools > 0) ? std::to_string(tools) : "-",
          text(server, "Problem")};
}

}  // namespace

Result<int> list_servers(const ParsedCommand& command) {
  const auto servers = listed_servers(command);
  if (command.json) {
    print_json(Json(servers));
    return 0;
  }
  std::vector<Line> lines;
  for (const Json& server : servers) lines.push_back(line_of(server));
  const std::vector<Column> columns = {{"NAME"},
                                       {"KIND"},
                                       {"PLACE"},
                                       {"STATE"},
                                       {"LOGIN"},
                                       {"TOOLS", Align::right},
                                       {"PROBLEM", Align::left, Fit::shrinks}};
  for (const auto& line : table(columns, lines, terminal_width())) cli::print_text(stdout, line + "\n");
  return 0;
}
const ProgramOfCommand kListServers{"servers list", list_servers};

Result<int> run_server_test(const ParsedCommand& command) {
  CHECKED(check_call_flag(command));
  TRY(const RunningDaemon daemon, RunningDaemon::reach(command));
  int status = 0;
  for (const auto& name : command.words) {
    TRY(const auto servers, daemon.servers());
    if (server_named(servers, name).is_null())
      return fail(Code::not_found, fmt::format("the daemon has no server named '{}'", name),
                  "warder servers list shows them; a new file needs a reload: systemctl reload warder");
    AddedServer server;
    server.name = name;
    server.tenant = command.value("tenant", "");
    server.reloaded = true;
    CHECKED(start_added(daemon, server));
    TRY(const int value, report_added(command, server));
    status = std::max(status, value);
  }
  return status;
}
const ProgramOfCommand kRunServerTest{"servers test", run_server_test};

}  // namespace admin
