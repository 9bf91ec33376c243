// `warder ps` and `warder kill`.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iostream>

#include "supervisor/programs/cli/admin/acting.h"
#include "supervisor/programs/cli/admin/bus_client.h"
#include "supervisor/programs/cli/admin/command.h"
#include "supervisor/programs/cli/admin/executions.h"
#include "supervisor/programs/cli/admin/short_ids.h"
#include "supervisor/programs/cli/terminal.h"

namespace admin {
namespace {

constexpr const char* kStates[] = {"waiting", "starting", "running", "frozen", "ended"};

bool is_one_of(const std::string& value, const std::vector<std::string>& allowed) {
  return allowed.empty() || std::find(allowed.begin(), allowed.end(), value) != allowed.end();
}

// The states that --state names. Errors: invalid.
Result<std::vector<std::string>> asked_states(const ParsedCommand& command) {
  auto states = command.values("state");
  for (const auto& state : states)
    if (std::find(std::begin(kStates), std::end(kStates), state) == std::end(kStates))
      return fail(Code::invalid, "--state: '" + state + "' is not a state",
                  "use waiting, starting, running, frozen or ended, for example: warder ps --state running");
  return states;
}

Result<std::vector<Json>> filtered(std::vector<Json> all, const ParsedCommand& command) {
  TRY(const auto states, asked_states(command));
  const auto tenants = command.values("tenant"), languages = command.values("language");
  const bool ended = command.has("all") || (!states.empty() && is_one_of("ended", states));
  std::erase_if(all, [&](const Json& item) {
    const std::string state = text(item, "State");
    return (state == "ended" && !ended) || !is_one_of(state, states) || !is_one_of(text(item, "Tenant"), tenants) ||
           !is_one_of(text(item, "Language"), languages);
  });
  return all;
}

// Asks on the terminal. Without a terminal the answer is no.
bool is_confirmed(const std::string& question) {
  if (!::isatty(STDIN_FILENO)) return false;
  cli::print_text(stderr, question + " [y/N] ");
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

// The ids that `warder kill` means: those that were typed, or all of one tenant after a confirmation.
Result<std::vector<std::string>> asked_ids(const BusClient& warderd, const ParsedCommand& command) {
  if (!command.has("tenant")) {
    if (command.words.empty())
      return fail(Code::invalid, "no EXECUTION is named",
                  "name executions (warder ps lists them), or use --tenant NAME");
    return command.words;
  }
  if (!command.words.empty()) return fail(Code::invalid, "--tenant and EXECUTION exclude each other", "leave one out");
  TRY(const auto all, warderd.executions());
  TRY(const auto living, filtered(all, command));
  std::vector<std::string> ids;
  for (const Json& item : living) ids.push_back(text(item, "Id"));
  const std::string tenant = command.value("tenant", "");
  const std::string subject = std::to_string(ids.size()) + " executions of tenant '" + tenant + "'";
  if (ids.empty() || command.has("yes")) return ids;
  if (!is_confirmed("End " + subject + "?"))
    return fail(Code::denied, subject + " were not ended: nobody confirmed it", "answer y, or use --yes");
  return ids;
}

// `warder ps --cluster`: the executions of all nodes.
Result<int> show_cluster_executions(const BusClient& warderd, const ParsedCommand& command) {
  if (command.has("all"))
    return fail(Code::invalid, "--all and --cluster exclude each other",
                "other nodes show only waiting and running executions; leave one out");
  TRY(const Json answer, warderd.read(kPath, kCluster, "ListClusterExecutions"));
  std::vector<Json> all(element(answer, 0).begin(), element(answer, 0).end());
  TRY(const auto visible, filtered(std::move(all), command));
  if (command.json) {
    print_json({{"Executions", visible}, {"Unanswered", element(answer, 1)}, {"LeftOut", number(element(answer, 2))}});
    return 0;
  }
  std::vector<std::string> ids;
  for (const Json& item : visible) ids.push_back(text(item, "Id"));
  const size_t id_length = command.has("full-ids") ? 0 : short_length(ids);
  for (const auto& line : executions_table(visible, terminal_width(), id_length, NodeColumn::yes))
    std::printf("%s\n", line.c_str());
  std::string silent;
  for (const Json& node : element(answer, 1)) silent += (silent.empty() ? "" : ", ") + text(node);
  if (!silent.empty()) cli::print_text(stderr, "did not answer: " + silent + "\n");
  if (const auto left_out = number(element(answer, 2)); left_out > 0)
    cli::print_text(stderr, std::to_string(left_out) + " more executions are not listed\n");
  return 0;
}

}  // namespace

Result<int> run_ps(const ParsedCommand& command) {
  TRY(BusClient warderd, BusClient::connect(command.bus));
  if (command.has("cluster")) return show_cluster_executions(warderd, command);
  TRY(auto all, warderd.executions());
  std::vector<std::string> ids;  // of all: a printed id must also not fit one that is not shown
  for (const Json& item : all) ids.push_back(text(item, "Id"));
  TRY(const auto visible, filtered(std::move(all), command));
  if (command.json) {
    print_json(Json(visible));
    return 0;
  }
  const size_t id_length = command.has("full-ids") ? 0 : short_length(ids);
  for (const auto& line : executions_table(visible, terminal_width(), id_length)) std::printf("%s\n", line.c_str());
  return 0;
}
const ProgramOfCommand kRunPs{"ps", run_ps};

Result<int> run_kill(const ParsedCommand& command) {
  TRY(BusClient warderd, BusClient::connect(command.bus));
  TRY(const auto typed, asked_ids(warderd, command));
  return act_on_each(command, typed, "kill", "killed", [&warderd](const std::string& word) -> Result<ActionResult> {
    TRY(std::string id, find_execution(warderd, word));
    CHECKED(warderd.call(kPath, kManager, "KillExecution", {"s", {id}}));
    return ActionResult{id, id + " is ended, outcome cancelled"};
  });
}
const ProgramOfCommand kRunKill{"kill", run_kill};

}  // namespace admin
