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

Result<int> run_tenants(const ParsedCommand& given) {
  TRY(const BusClient warderd, BusClient::connect(given.bus));
  TRY(const Json all, warderd.call(kPath, kManager, "ListTenantRecords"));
  if (given.json) {
    for (const Json& one : all) print_json(one);
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
  for (const Json& one : all) {
    const bool is_counted = !member(one, "WorkspaceBytes").is_null(), is_used = !member(one, "LastUSec").is_null();
    lines.push_back({text(one, "Name"), client_text(one), number_or_dash(one, "Executions"),
                     number_or_dash(one, "Running"), number_or_dash(one, "Sessions"),
                     number_or_dash(one, "WorkspaceFiles"),
                     is_counted ? bytes_text(number(one, "WorkspaceBytes")) : "-", number_or_dash(one, "OpenProposals"),
                     is_used ? local_time(static_cast<int64_t>(number(one, "LastUSec") / 1000)) : "-"});
  }
  for (const auto& line : table(columns, lines, terminal_width())) std::printf("%s\n", line.c_str());
  return 0;
}

Result<int> remove_tenant(const ParsedCommand& given) {
  const std::string& name = given.words.front();
  TRY(const BusClient warderd, BusClient::connect(given.bus));
  if (!given.has("yes")) CHECKED(ask_for_removal(name));
  TRY(const Json done, warderd.call(kPath, kManager, "RemoveTenant", {"sb", {name, given.has("force")}}));
  if (given.json) {
    print_json({{"tenant", name}, {"removed", true}});
  } else {
    cli::print_text(stdout, "tenant '" + name + "' is removed; its files are being deleted\n");
  }
  return 0;
}

}  // namespace admin
