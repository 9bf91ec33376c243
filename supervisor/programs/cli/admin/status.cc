// `warder status`: whether the daemon serves as it is configured, and what is missing.
#include <array>
#include <cstdio>
#include <utility>

#include "supervisor/base/text_lines.h"
#include "supervisor/programs/cli/admin/bus_client.h"
#include "supervisor/programs/cli/admin/command.h"
#include "supervisor/programs/cli/admin/executions.h"
#include "supervisor/programs/cli/terminal.h"

namespace admin {
namespace {

// Properties of the Manager with one problem a line; empty: none.
constexpr std::array<std::pair<const char*, const char*>, 3> kProblems = {
    {{"ConfigurationProblem", "configuration"}, {"ReloadProblem", "last reload"}, {"DiskProblem", "disk"}}};

Json problems_of(const Json& all) {
  Json result = Json::array();
  for (const auto& [property, subject] : kProblems)
    for (const std::string& problem : lines_in(text(all, property), EmptyLines::left_out))
      result.push_back({{"subject", subject}, {"problem", problem}});
  return result;
}

}  // namespace

Result<int> run_status(const ParsedCommand& command) {
  TRY(BusClient warderd, BusClient::connect(command.bus));
  TRY(const Json all, warderd.properties(kPath, kManager));
  const std::string state = text(all, "State");
  const Json problems = problems_of(all);
  const bool is_good = state == "serving" && problems.empty();
  if (command.json) {
    print_json({{"state", state}, {"version", text(all, "Version")}, {"problems", problems}});
    return is_good ? 0 : 1;
  }
  const auto line = [](const std::string& display_text) {
    cli::print_text(stdout, cli::for_terminal(display_text) + "\n");
  };
  line("warderd " + text(all, "Version") + ": " + state + ", up " + usec_text(usec_since(number(all, "StartedUSec"))) +
       ", " + std::to_string(number(all, "Running")) + " running");
  for (const auto& problem : problems) line(text(problem, "subject") + ": " + text(problem, "problem"));
  if (!is_good) line("remedies: warder doctor");
  return is_good ? 0 : 1;
}
const ProgramOfCommand kRunStatus{"status", run_status};

}  // namespace admin
