// `warder nodes drain`, `undrain`, `move` and `restore`: where workspaces have their homes. The daemon moves one after
// the other; the command asks for each, and prints the result.
#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <set>

#include "supervisor/programs/cli/admin/bus_client.h"
#include "supervisor/programs/cli/admin/command.h"
#include "supervisor/programs/cli/admin/text.h"
#include "supervisor/programs/cli/terminal.h"

namespace admin {
namespace {

using namespace std::chrono_literals;

constexpr auto kMoveLimit = 15min;  // of one workspace
constexpr int kMaxRounds = 3;       // a home may come while the others leave
constexpr char kDefaultHome[] = "/default";

// "ada/default" is the own workspace of "ada", too.
std::string workspace_word(std::string word) {
  if (word.ends_with(kDefaultHome)) word.resize(word.size() - (sizeof kDefaultHome - 1));
  return word;
}

Result<BusClient> connect_to_own_node(const ParsedCommand& command, std::string& self) {
  TRY(BusClient warderd, BusClient::connect(command.bus));
  TRY(const Json own, warderd.properties(kPath, kCluster));
  self = text(own, "Self");
  const std::string state = text(own, "State");
  if (state == "member") return warderd;
  return fail(Code::unavailable, "the daemon of this machine cannot move workspaces: it is " + state,
              "warder nodes; journalctl --unit=warder-node");
}

Result<> check_node(const ParsedCommand& command, const std::string& self) {
  if (command.words.empty() || command.words.front() == self) return {};
  return fail(Code::invalid, fmt::format("this machine is node {}", self),
              "call the command on node " + command.words.front());
}

Result<std::vector<std::string>> set_drained(const BusClient& warderd, bool is_drained) {
  TRY(const Json answer, warderd.call(kPath, kCluster, "SetDrained", {"b", {is_drained}}));
  std::vector<std::string> homes;
  for (const Json& home : answer) homes.push_back(text(home));
  return homes;
}

struct Drained {
  Json homes = Json::array();
  size_t moved = 0, stay = 0;
};

void drain_home(const BusClient& warderd, const ParsedCommand& command, const std::string& home,
                const std::string& park, Drained& drained) {
  const auto done = park.empty() ? warderd.call(kPath, kCluster, "Move", {"ss", {home, ""}})
                                 : warderd.call(kPath, kCluster, "Park", {"ss", {home, park}});
  Json row = {{"Workspace", home}};
  std::string line;
  if (!done) {
    row["Stays"] = done.error().what;
    line = fmt::format("{}: stays: {}{}{}", home, done.error().what, done.error().hint.empty() ? "" : "; ",
                       done.error().hint);
    drained.stay++;
  } else {
    row[park.empty() ? "Node" : "File"] = text(*done);
    line = fmt::format("{}: {} {}", home, park.empty() ? "moved to" : "stays here, and is in", text(*done));
    drained.moved++;
  }
  drained.homes.push_back(std::move(row));
  if (!command.json) cli::print_text(stdout, line + "\n");
}

}  // namespace

Result<int> run_nodes_drain(const ParsedCommand& command) {
  std::string self, park = command.value("park", "");
  TRY(BusClient warderd, connect_to_own_node(command, self));
  CHECKED(check_node(command, self));
  if (!park.empty()) park = std::filesystem::absolute(park).lexically_normal().string();
  warderd.wait_at_most(kMoveLimit);
  Drained drained;
  std::set<std::string> seen;
  for (int round = 0; round < kMaxRounds; round++) {
    TRY(const auto homes, set_drained(warderd, true));
    if (round == 0 && !command.json)
      cli::print_text(stdout, fmt::format("{} is drained: it gets no new homes, and has {}\n", self, homes.size()));
    bool is_new = false;
    for (const std::string& home : homes) {
      if (!seen.insert(home).second) continue;
      is_new = true;
      drain_home(warderd, command, home, park, drained);
    }
    if (!is_new) break;
  }
  if (command.json)
    print_json({{"Node", self}, {"Homes", drained.homes}, {"Done", drained.moved}, {"Stay", drained.stay}});
  else
    cli::print_text(stdout, fmt::format("{} {}, {} {}\n", drained.moved, park.empty() ? "moved" : "parked",
                                        drained.stay, drained.stay == 1 ? "stays" : "stay"));
  return drained.stay == 0 ? 0 : 1;
}
const ProgramOfCommand kRunNodesDrain{"nodes drain", run_nodes_drain};

Result<int> run_nodes_undrain(const ParsedCommand& command) {
  std::string self;
  TRY(const BusClient warderd, connect_to_own_node(command, self));
  CHECKED(check_node(command, self));
  TRY(const auto homes, set_drained(warderd, false));
  if (command.json)
    print_json({{"Node", self}, {"Homes", homes.size()}});
  else
    cli::print_text(stdout, fmt::format("{} gets new homes again; it has {}\n", self, homes.size()));
  return 0;
}
const ProgramOfCommand kRunNodesUndrain{"nodes undrain", run_nodes_undrain};

Result<int> run_nodes_move(const ParsedCommand& command) {
  if (command.words.size() > 2)
    return fail(Code::invalid, "too many words", "warder nodes move ACCOUNT[/WORKSPACE] [NODE]");
  std::string self;
  TRY(BusClient warderd, connect_to_own_node(command, self));
  warderd.wait_at_most(kMoveLimit);
  const std::string workspace = workspace_word(command.words.front());
  const std::string node = command.words.size() == 2 ? command.words[1] : "";
  TRY(const Json moved, warderd.call(kPath, kCluster, "Move", {"ss", {workspace, node}}));
  if (command.json)
    print_json({{"Workspace", workspace}, {"Node", text(moved)}});
  else
    cli::print_text(stdout, fmt::format("{}: moved to {}\n", workspace, text(moved)));
  return 0;
}
const ProgramOfCommand kRunNodesMove{"nodes move", run_nodes_move};

Result<int> run_nodes_restore(const ParsedCommand& command) {
  std::string self;
  TRY(BusClient warderd, connect_to_own_node(command, self));
  warderd.wait_at_most(kMoveLimit);
  const std::string file = std::filesystem::absolute(command.words.front()).lexically_normal().string();
  TRY(const Json answer, warderd.call(kPath, kCluster, "Restore", {"s", {file}}));
  const std::string workspace = text(element(answer, 0)), node = text(element(answer, 1));
  const auto created_usec = element(answer, 2).get<uint64_t>();
  const auto now =
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch());
  const uint64_t age_usec =
      static_cast<uint64_t>(now.count()) - std::min<uint64_t>(static_cast<uint64_t>(now.count()), created_usec);
  if (command.json)
    print_json({{"Workspace", workspace}, {"From", node}, {"MadeUSec", created_usec}, {"Node", self}});
  else
    cli::print_text(stdout, fmt::format("{} is here, as it was at {} {} ago; later changes there are lost\n", workspace,
                                        node, usec_text(age_usec)));
  return 0;
}
const ProgramOfCommand kRunNodesRestore{"nodes restore", run_nodes_restore};

}  // namespace admin
