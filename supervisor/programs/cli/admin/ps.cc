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
Result<std::vector<std::string>> asked_states(const ParsedCommand& given) {
  auto states = given.values("state");
  for (const auto& state : states)
    if (std::find(std::begin(kStates), std::end(kStates), state) == std::end(kStates))
      return fail(Code::invalid, "--state: '" + state + "' is not a state",
                  "use waiting, starting, running, frozen or ended, for example: warder ps --state running");
  return states;
}

Result<std::vector<Json>> filtered(std::vector<Json> all, const ParsedCommand& given) {
  TRY(const auto states, asked_states(given));
  const auto tenants = given.values("tenant"), languages = given.values("language");
  const bool ended = given.has("all") || (!states.empty() && is_one_of("ended", states));
  std::erase_if(all, [&](const Json& one) {
    const std::string state = text(one, "State");
    return (state == "ended" && !ended) || !is_one_of(state, states) || !is_one_of(text(one, "Tenant"), tenants) ||
           !is_one_of(text(one, "Language"), languages);
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
Result<std::vector<std::string>> asked_ids(const BusClient& warderd, const ParsedCommand& given) {
  if (!given.has("tenant")) {
    if (given.words.empty())
      return fail(Code::invalid, "no EXECUTION is named",
                  "name executions (warder ps lists them), or use --tenant NAME");
    return given.words;
  }
  if (!given.words.empty()) return fail(Code::invalid, "--tenant and EXECUTION exclude each other", "leave one out");
  TRY(const auto all, warderd.executions());
  TRY(const auto living, filtered(all, given));
  std::vector<std::string> ids;
  for (const Json& one : living) ids.push_back(text(one, "Id"));
  const std::string tenant = given.value("tenant", "");
  const std::string what = std::to_string(ids.size()) + " executions of tenant '" + tenant + "'";
  if (ids.empty() || given.has("yes")) return ids;
  if (!is_confirmed("End " + what + "?"))
    return fail(Code::denied, what + " were not ended: nobody confirmed it", "answer y, or use --yes");
  return ids;
}

// `warder ps --cluster`: the executions of all nodes.
Result<int> show_cluster_executions(const BusClient& warderd, const ParsedCommand& given) {
  if (given.has("all"))
    return fail(Code::invalid, "--all and --cluster exclude each other",
                "other nodes show only waiting and running executions; leave one out");
  TRY(const Json answer, warderd.read(kPath, kCluster, "ListClusterExecutions"));
  std::vector<Json> all(element(answer, 0).begin(), element(answer, 0).end());
  TRY(const auto shown, filtered(std::move(all), given));
  if (given.json) {
    print_json({{"Executions", shown}, {"Unanswered", element(answer, 1)}, {"LeftOut", number(element(answer, 2))}});
    return 0;
  }
  std::vector<std::string> ids;
  for (const Json& one : shown) ids.push_back(text(one, "Id"));
  const size_t id_length = given.has("full-ids") ? 0 : short_length(ids);
  for (const auto& line : executions_table(shown, terminal_width(), id_length, NodeColumn::yes))
    std::printf("%s\n", line.c_str());
  std::string silent;
  for (const Json& node : element(answer, 1)) silent += (silent.empty() ? "" : ", ") + text(node);
  if (!silent.empty()) cli::print_text(stderr, "did not answer: " + silent + "\n");
  if (const auto left_out = number(element(answer, 2)); left_out > 0)
    cli::print_text(stderr, std::to_string(left_out) + " more executions are not listed\n");
  return 0;
}

}  // namespace

Result<int> run_ps(const ParsedCommand& given) {
  TRY(BusClient warderd, BusClient::connect(given.bus));
  if (given.has("cluster")) return show_cluster_executions(warderd, given);
  TRY(auto all, warderd.executions());
  std::vector<std::string> ids;  // of all: a printed id must also not fit one that is not shown
  for (const Json& one : all) ids.push_back(text(one, "Id"));
  TRY(const auto shown, filtered(std::move(all), given));
  if (given.json) {
    print_json(Json(shown));
    return 0;
  }
  const size_t id_length = given.has("full-ids") ? 0 : short_length(ids);
  for (const auto& line : executions_table(shown, terminal_width(), id_length)) std::printf("%s\n", line.c_str());
  return 0;
}

Result<int> run_kill(const ParsedCommand& given) {
  TRY(BusClient warderd, BusClient::connect(given.bus));
  TRY(const auto typed, asked_ids(warderd, given));
  return act_on_each(given, typed, "kill", "killed", [&warderd](const std::string& word) -> Result<ActionResult> {
    TRY(std::string id, find_execution(warderd, word));
    CHECKED(warderd.call(kPath, kManager, "KillExecution", {"s", {id}}));
    return ActionResult{id, id + " is ended, outcome cancelled"};
  });
}

}  // namespace admin
