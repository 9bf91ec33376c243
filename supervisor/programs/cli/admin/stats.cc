// `warder stats`: the Manager's properties, for reading.
#include <cstdio>

#include "supervisor/programs/cli/admin/bus_client.h"
#include "supervisor/programs/cli/admin/command.h"
#include "supervisor/programs/cli/admin/executions.h"
#include "supervisor/programs/cli/terminal.h"

namespace admin {
namespace {

std::string count_text(const Json& of, const char* key) { return std::to_string(number(of, key)); }

std::string counts_text(const Json& counts) {
  std::string all;
  for (const auto& [name, count] : counts.items())
    all += (all.empty() ? "" : ", ") + name + " " + std::to_string(number(count));
  return all.empty() ? "none" : all;
}

std::string times_text(const Json& times) {
  auto time = [&times](const char* name) { return known_usec_text(known_number(times, name)); };
  return "p50 " + time("p50") + ", p90 " + time("p90") + ", p99 " + time("p99") + ", max " + time("max") +
         " (of the newest " + count_text(times, "of") + ")";
}

// "12.0s", "at least 1.1s (18 executions not counted)", "-".
std::string cpu_text(const Json& all) {
  const uint64_t counted = number(all, "CPUUsageUSec"), unknown = number(all, "CPUUnknown");
  if (unknown == 0) return number(all, "Executions") + number(all, "Running") == 0 ? "-" : usec_text(counted);
  const std::string uncounted = std::to_string(unknown) + " executions not counted";
  return counted == 0 ? "- (" + uncounted + ")" : "at least " + usec_text(counted) + " (" + uncounted + ")";
}

void row(std::string name, const std::string& text) {
  name.resize(std::max<size_t>(name.size(), 14), ' ');
  cli::print_text(stdout, cli::for_terminal(name + " " + text) + "\n");
}

}  // namespace

Result<int> run_stats(const ParsedCommand& command) {
  TRY(BusClient warderd, BusClient::connect(command.bus));
  TRY(Json all, warderd.properties(kPath, kManager));
  if (command.json) {
    print_json(all);
    return 0;
  }
  const Json& ledger = member(all, "Ledger");
  row("warderd",
      text(all, "Version") + ", " + text(all, "State") + ", up " + usec_text(usec_since(number(all, "StartedUSec"))));
  row("now", count_text(all, "Running") + " running, " + count_text(all, "Waiting") + " waiting, " +
                 count_text(all, "Frozen") + " frozen; " + count_text(all, "WaitingJails") + " jails wait");
  row("executions", count_text(all, "Executions") + ": " + counts_text(member(all, "Outcomes")));
  row("refused", counts_text(member(all, "Refusals")));
  row("starts", counts_text(member(all, "Starts")));
  row("answers", times_text(member(all, "AnswerUSec")));
  row("programs", times_text(member(all, "WallUSec")));
  row("CPU, memory", cpu_text(all) + ", " + bytes_text(number(all, "MemoryBytes")));
  row("context", bytes_text(number(ledger, "returned_bytes")) + " returned, " +
                     bytes_text(number(ledger, "kept_out_bytes")) + " stayed out (about " +
                     count_text(ledger, "kept_out_tokens_estimated") + " tokens), " +
                     bytes_text(number(ledger, "definitions_avoided_bytes")) + " of tool definitions not sent");
  for (const auto& [language, times] : member(all, "Languages").items())
    row(language, count_text(times, "executions") + " executions, " + times_text(times));
  if (const auto problem = text(all, "ReloadProblem"); !problem.empty()) row("last reload", problem);
  if (const auto problem = text(all, "ConfigurationProblem"); !problem.empty()) row("configuration", problem);
  if (const auto problem = text(all, "DiskProblem"); !problem.empty()) row("disk", problem);
  return 0;
}
const ProgramOfCommand kRunStats{"stats", run_stats};

}  // namespace admin
