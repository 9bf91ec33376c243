// `warder complete`: the completion of shells runs it to list the words that fit at the cursor: ids of executions,
// approvals and proposals from a running daemon, names of policies from their files. Without a daemon or files it
// prints no words and no error, within 2 seconds. It starts no daemon and asks for no authentication.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <sstream>

#include "supervisor/programs/cli/admin/bus_client.h"
#include "supervisor/programs/cli/admin/command.h"
#include "supervisor/programs/cli/admin/policies/policy_store.h"
#include "supervisor/programs/cli/servers/drop_ins.h"

namespace admin {
namespace {

constexpr unsigned kPatienceSeconds = 2;  // the user has pressed a key and waits
using Words = std::vector<std::string>;

// The words of the line before the cursor, divided at spaces. Quotes are not understood.
Words words_of(const std::string& line) {
  std::istringstream in(line);
  return {std::istream_iterator<std::string>(in), {}};
}

// The flags --bus, --config and --policies among the typed words.
ParsedCommand given_in(const Words& typed) {
  ParsedCommand command;
  for (size_t i = 0; i + 1 < typed.size(); i++) {
    if (typed[i] == "--bus") command.bus = typed[i + 1];
    if (typed[i] == "--config") command.flags.emplace_back("config", typed[i + 1]);
    if (typed[i] == "--policies") command.flags.emplace_back("policies", typed[i + 1]);
  }
  return command;
}

Result<BusClient> connect_quietly(const std::string& bus) {
  TRY(BusClient client, BusClient::connect(bus, BusClient::Reach::bus));
  if (!client.has_daemon()) return fail(Code::unavailable, "no warderd is on this bus");
  client.without_authentication();
  return client;
}

enum class EndedExecutions { offered, left_out };

Result<Words> executions_of(const ParsedCommand& command, EndedExecutions ended) {
  TRY(BusClient client, connect_quietly(command.bus));
  TRY(Json listed, client.call(kPath, kManager, "ListExecutions"));  // id, object, tenant, language, state, uid
  Words ids;
  for (const auto& item : listed)
    if (ended == EndedExecutions::offered || text(element(item, 4)) != "ended") ids.push_back(text(element(item, 0)));
  return ids;
}

Result<Words> approvals_of(const ParsedCommand& command) {
  TRY(BusClient client, connect_quietly(command.bus));
  TRY(Json listed, client.call(kPath, kManager, "ListApprovals"));
  Words ids;
  for (const auto& item : listed) ids.push_back(text(item, "Id"));
  return ids;
}

Result<Words> proposals_of(const ParsedCommand& command) {
  TRY(BusClient client, connect_quietly(command.bus));
  TRY(Json listed, client.call(kPath, kManager, "ListProposals", {"s", {""}}));
  Words ids;
  for (const auto& item : listed) ids.push_back(text(item, "Id"));
  return ids;
}

Result<Words> policies_of(const ParsedCommand& command) {
  TRY(policies::Store store, load_policies(command));
  return store.names();
}

Words servers_of(const ParsedCommand& command) {
  Words names;
  const ServerDropIns files = ServerDropIns::read(command);
  for (const auto& server : files.options().servers) names.push_back(server.name);
  return names;
}

Result<Words> candidates(const std::string& subject, const Words& typed) {
  const ParsedCommand command = given_in(typed);
  const bool ends_them = std::find(typed.begin(), typed.end(), "kill") != typed.end();
  if (subject == "executions")
    return executions_of(command, ends_them ? EndedExecutions::left_out : EndedExecutions::offered);
  if (subject == "approvals") return approvals_of(command);
  if (subject == "proposals") return proposals_of(command);
  if (subject == "policies") return policies_of(command);
  if (subject == "servers") return servers_of(command);
  return fail(Code::invalid, "this kind of word is not known");
}

// Whether no character of the word has a meaning for the shell: compgen -W expands its words.
bool is_plain(const std::string& word) {
  return !word.empty() &&
         word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") == word.npos;
}

}  // namespace

Result<int> print_candidates(const ParsedCommand& command) {
  ::signal(SIGALRM, [](int) { ::_exit(0); });
  ::alarm(kPatienceSeconds);
  const Words typed = command.words.size() > 1 ? words_of(command.words[1]) : Words();
  const auto words = candidates(command.words.front(), typed);
  if (!words) return 0;
  for (const auto& word : *words)
    if (is_plain(word)) std::printf("%s\n", word.c_str());
  return 0;
}
const ProgramOfCommand kPrintCandidates{"complete", print_candidates};

}  // namespace admin
