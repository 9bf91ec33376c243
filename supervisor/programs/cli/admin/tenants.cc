// `warder tenants` and `warder tenant remove`: over D-Bus, because the daemon owns the files.
#include <unistd.h>

#include <cstdio>
#include <iostream>

#include "supervisor/programs/cli/admin/bus_client.h"
#include "supervisor/programs/cli/admin/command.h"
#include "supervisor/programs/cli/admin/text.h"
#include "supervisor/programs/cli/admin/times.h"
#include "supervisor/programs/cli/terminal.h"

namespace admin {
namespace {

std::string number_or_dash(const Json& of, const char* key) {
  return member(of, key).is_null() ? "-" : std::to_string(number(of, key));
}

// Removal cannot be undone: the name must be typed again.
Result<> ask_for_removal(const std::string& name) {
  if (::isatty(STDIN_FILENO) != 1)
    return fail(Code::invalid, "the removal of tenant '" + name + "' cannot be undone, and nobody can be asked here",
                "add --yes");
  cli::print_text(stderr, "This removes all files, output and records of tenant '" + name +
                              "', and cannot be undone.\nType the tenant's name to remove it: ");
  std::string typed;
  if (std::getline(std::cin, typed) && typed == name) return {};
  return fail(Code::denied, "nothing was removed");
}

}  // namespace

Result<int> run_tenants(const ParsedCommand& command) {
  TRY(const BusClient warderd, BusClient::connect(command.bus));
  TRY(const Json all, warderd.call(kPath, kManager, "ListTenantRecords"));
  if (command.json) {
    for (const Json& item : all) print_json(item);
    return 0;
  }
  const std::vector<Column> columns = {{"TENANT", Align::left, Fit::shrinks},
                                       {"CLIENT"},
                                       {"EXECUTIONS", Align::right},
                                       {"RUNNING", Align::right},
                                       {"SESSIONS", Align::right},
                                       {"FILES", Align::right},
                                       {"BYTES", Align::right},
                                       {"PROPOSALS", Align::right},
                                       {"LAST USED"}};
  std::vector<Line> lines;
  for (const Json& item : all) {
    const bool is_counted = !member(item, "WorkspaceBytes").is_null(), is_used = !member(item, "LastUSec").is_null();
    lines.push_back(
        {text(item, "Name"), client_text(item), number_or_dash(item, "Executions"), number_or_dash(item, "Running"),
         number_or_dash(item, "Sessions"), number_or_dash(item, "WorkspaceFiles"),
         is_counted ? bytes_text(number(item, "WorkspaceBytes")) : "-", number_or_dash(item, "OpenProposals"),
         is_used ? local_time(static_cast<int64_t>(number(item, "LastUSec") / 1000)) : "-"});
  }
  for (const auto& line : table(columns, lines, terminal_width())) std::printf("%s\n", line.c_str());
  return 0;
}
const ProgramOfCommand kRunTenants{"tenants", run_tenants};

Result<int> remove_tenant(const ParsedCommand& command) {
  const std::string& name = command.words.front();
  TRY(const BusClient warderd, BusClient::connect(command.bus));
  if (!command.has("yes")) CHECKED(ask_for_removal(name));
  TRY(const Json done, warderd.call(kPath, kManager, "RemoveTenant", {"sb", {name, command.has("force")}}));
  if (command.json) {
    print_json({{"tenant", name}, {"removed", true}});
  } else {
    cli::print_text(stdout, "tenant '" + name + "' is removed; its files are being deleted\n");
  }
  return 0;
}
const ProgramOfCommand kRemoveTenant{"tenant remove", remove_tenant};

}  // namespace admin
