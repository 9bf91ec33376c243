// `warder servers add` and `warder servers remove`.
#include "supervisor/programs/cli/servers/add.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/programs/cli/admin/command.h"
#include "supervisor/programs/cli/servers/call_advice.h"
#include "supervisor/programs/cli/servers/network.h"
#include "supervisor/programs/cli/servers/program_lookup.h"
#include "supervisor/programs/cli/servers/start_problem.h"
#include "supervisor/programs/cli/terminal.h"

namespace admin {
namespace {

bool is_url(const std::string& word) {
  for (const char* scheme : {"http://", "https://", "unix://"})
    if (word.starts_with(scheme)) return true;
  return false;
}

bool has_scheme(const std::string& word) {
  const size_t mark = word.find("://");
  return mark != word.npos && mark > 0 && word.find_first_of("/ ") > mark;
}

Result<Json> entry_of(const ParsedCommand& command) {
  Json entry = Json::object();
  const std::string& first = command.words[1];
  if (is_url(first)) {
    if (command.words.size() > 2)
      return fail(Code::invalid, "more words after the URL", "give a name and the URL only");
    for (const char* flag : {"env", "folder", "jail", "no-jail"})
      if (command.has(flag)) return fail(Code::invalid, fmt::format("--{}: not for a URL", flag));
    entry["url"] = first;
    TRY(Json headers, pairs_of(command.values("header"), "--header"));
    if (!headers.empty()) entry["headers"] = std::move(headers);
    TRY(Json secrets, pairs_of(command.values("secret"), "--secret"));
    if (!secrets.empty()) entry["secrets"] = std::move(secrets);
  } else if (has_scheme(first)) {
    return fail(Code::invalid, fmt::format("'{}': not a URL that Warder can use", first),
                "http://, https:// or unix://, of a server that speaks Streamable HTTP");
  } else {
    if (command.has("header")) return fail(Code::invalid, "--header: only for a URL", "use --env for a command");
    if (command.has("open-network")) return fail(Code::invalid, "--open-network: only for a URL");
    if (command.has("jail") && command.has("no-jail"))
      return fail(Code::invalid, "--jail and --no-jail exclude each other", "give one of them");
    entry["command"] = first;
    if (command.words.size() > 2)
      entry["args"] = std::vector<std::string>(command.words.begin() + 2, command.words.end());
    if (command.has("no-jail")) entry["jail"] = "none";
    CHECKED(take_entry_flags(command, entry));
  }
  if (command.has("shared")) entry["share"] = "everybody";
  return entry;
}

void print_advice(const CallAdvice& advice, const std::string& server) {
  const size_t all = advice.allowed + advice.requested + advice.refused;
  if (advice.requested + advice.refused == 0) {
    cli::print_text(stdout, fmt::format("policy {}: allows all {} tools\n", advice.policy, all));
    return;
  }
  cli::print_text(stdout, fmt::format("policy {}: allows {} of {} tools, asks a person for {}, refuses {} ({}{}{})\n",
                                      advice.policy, advice.allowed, all, advice.requested, advice.refused,
                                      advice.decides, advice.file.empty() ? "" : ", in ", advice.file));
  cli::print_text(stdout, fmt::format("  to allow them: warder servers test {} --call allow, or add to \"calls.rules\" "
                                      "of the policy {}: {}\n",
                                      server, advice.policy, dump_json(call_rule(server, "allow"))));
}

Result<> write_rule_of_flag(const ParsedCommand& command, const AddedServer& server) {
  if (!command.has("call")) return {};
  const std::string verdict = command.value("call", "");
  TRY(const auto written, write_call_rule(command, server.name, server.tools, verdict));
  if (!written.empty() && server.reloaded) {
    auto reloaded = RunningDaemon::find(command).reload(command, ServerDropIns::read(command));
    if (!reloaded) {
      CHECKED(undo_call_rule(written));
      reloaded.error().code = Code::internal;  // the command line is right
      return tl::unexpected<Error>(std::move(reloaded).error().within("the reload with the rule failed"));
    }
  }
  for (const auto& [file, before, hides] : written) {
    FILE* where = command.json ? stderr : stdout;
    cli::print_text(where, fmt::format("{}: the rule \"server-{}\" says: {}\n", file, server.name, verdict));
    if (hides.empty()) continue;
    cli::print_text(where, fmt::format("  this file is a new copy of {}, which is not read any more, nor are its later "
                                       "versions. To return to it (the rules of {} end, too): rm {} && warder reload\n",
                                       hides, file, file));
  }
  return {};
}

// The folder of a program that `warder servers install` has copied; empty: the entry names no folder.
std::string copied_program(const std::string& entry) {
  const std::string_view folder = kInstalledServers;
  const size_t at = entry.find(std::string(folder) + "/");
  if (at == entry.npos) return {};
  return entry.substr(at, std::min(entry.find_first_of("/\"", at + folder.size() + 1), entry.size()) - at);
}

// The files that had rules for the server. Policies that cannot be read or written keep theirs, with a warning.
std::vector<RemovedRule> removed_rules(const ParsedCommand& command, const std::string& server) {
  auto rules = remove_call_rule(command, server);
  if (rules) return *std::move(rules);
  if (rules.error().code != Code::not_found)
    cli::print_text(stderr, fmt::format("the rule \"server-{}\" stays in the policies, if it is there: {}\n", server,
                                        rules.error().what));
  return {};
}

// Undoes a written or removed entry after a reload that failed. Errors: the file is not as it was; with the reload's.
Result<> restored(ServerDropIns& files, const std::string& name, const std::optional<std::string>& before,
                  const Error& reload) {
  auto done = files.restore(name, before);
  if (done) return done;
  return tl::unexpected<Error>(std::move(done).error().within(
      fmt::format("the reload failed ({}), and {} is not as it was before", reload.what, files.file_of(name))));
}

}  // namespace

Result<> check_call_flag(const ParsedCommand& command) {
  const std::string call = command.value("call", "allow");
  if (call != "allow" && call != "ask" && call != "deny") return fail(Code::invalid, "--call: not allow, ask or deny");
  return {};
}

Result<Json> pairs_of(const std::vector<std::string>& flags, const char* flag) {
  Json all = Json::object();
  for (const auto& pair : flags) {
    const size_t mark = pair.find('=');
    if (mark == 0 || mark == pair.npos)
      return fail(Code::invalid, fmt::format("{}: not KEY=VALUE", flag), fmt::format("for example {} LANG=C", flag));
    all[pair.substr(0, mark)] = pair.substr(mark + 1);
  }
  return all;
}

Result<> take_entry_flags(const ParsedCommand& command, Json& entry) {
  TRY(Json variables, pairs_of(command.values("env"), "--env"));
  if (!variables.empty()) entry["env"] = std::move(variables);
  TRY(Json secrets, pairs_of(command.values("secret"), "--secret"));
  if (!secrets.empty()) entry["secrets"] = std::move(secrets);
  if (command.has("folder")) entry["folder"] = command.value("folder", "");
  return {};
}

Result<> check_daemons_files(const ParsedCommand& command, const RunningDaemon& daemon, const ServerDropIns& files) {
  CHECKED(daemon.expect_same_configuration(files));
  return command.has("call") ? check_rules_writable(command) : Result<>{};
}

Result<AddedServer> add_entry(const ParsedCommand& command, const std::string& name, const Json& entry,
                              NameConflict on_conflict) {
  CHECKED(check_call_flag(command));
  ServerDropIns files = ServerDropIns::read(command);
  TRY(const upstream::ServerConfig server, files.check(name, entry, on_conflict));
  CHECKED(expect_program(server));
  const RunningDaemon daemon = RunningDaemon::find(command);
  CHECKED(check_daemons_files(command, daemon, files));
  if (daemon.on_bus() && !files.has(name)) {
    TRY(const auto servers, daemon.servers());
    if (!server_named(servers, name).is_null())
      return fail(Code::internal, fmt::format("the daemon has a server '{}' that is not in this configuration", name),
                  "name the file that the daemon was started with: --config FILE; or reload it: warder reload");
  }
  TRY(const auto before, files.write(name, entry));
  auto reloaded = daemon.reload(command, files);
  AddedServer added;
  added.name = name;
  added.file = files.file_of(name);
  if (!reloaded) {
    const std::string undone = before ? fmt::format("the former {} is in force again", name) : "nothing was added";
    CHECKED(restored(files, name, before, reloaded.error()));
    if (reloaded.error().code != Code::invalid || daemon.on_bus())
      reloaded.error().code = Code::internal;  // the files are wrong, not the command line
    return tl::unexpected<Error>(std::move(reloaded).error().within(undone + ", because the reload failed"));
  }
  added.reloaded = *reloaded == RunningDaemon::Reloaded::yes;
  if (!added.reloaded || !daemon.on_bus()) return added;
  // From here on the server is there: a missing daemon is a problem of the server, and the server stays.
  const auto servers = daemon.servers();
  if (!servers) {
    added.problem = servers.error().what;
    return added;
  }
  if (server_named(*servers, name).is_null()) {
    CHECKED(files.restore(name, before));
    return fail(Code::invalid, "the daemon does not read " + added.file,
                "name the file that the daemon was started with: --config FILE");
  }
  if (command.has("no-test")) return added;
  if (const auto started = start_added(daemon, added); !started) added.problem = started.error().what;
  return added;
}

Result<> start_added(const RunningDaemon& daemon, AddedServer& server) {
  const auto started = daemon.test(server.name, server.tenant);
  server.tested = true;
  if (!started) server.problem = started.error().what;
  TRY(const auto servers, daemon.servers());
  const Json named = server_named(servers, server.name);
  server.location = text(named, "Place");
  for (const Json& tool : member(named, "Tools")) server.tools.push_back(text(tool));
  return {};
}

Result<int> report_added(const ParsedCommand& command, const AddedServer& server) {
  const int status = server.problem.empty() ? 0 : 1;
  if (auto written = write_rule_of_flag(command, server); !written)
    return tl::unexpected<Error>(
        std::move(written).error().within(fmt::format("{} is there, but its rule was not written", server.name)));
  if (command.json) {
    Json report = {{"name", server.name},
                   {"file", server.file},
                   {"reloaded", server.reloaded},
                   {"tested", server.tested},
                   {"tools", server.tools}};
    if (!server.problem.empty()) report["problem"] = server.problem;
    print_json(report);
    return status;
  }
  if (!server.file.empty()) cli::print_text(stdout, fmt::format("{}: {}\n", server.name, server.file));
  if (!server.reloaded)
    cli::print_text(stdout, fmt::format("no daemon runs: the server is there from its next start on; to start "
                                        "and try it: warder servers test {}\n",
                                        server.name));
  if (!server.problem.empty()) {
    cli::print_text(stderr, fmt::format("{} does not start: {}\n", server.name, server.problem));
    if (const std::string remedy = start_remedy(server.problem, server.location); !remedy.empty())
      cli::print_text(stderr, "  " + remedy + "\n");
    return status;
  }
  if (!server.tested) return status;
  cli::print_text(stdout, fmt::format("{} starts, {} tools: {}\n", server.name, server.tools.size(),
                                      fmt::join(server.tools, ", ")));
  const auto advice = advice_for(command, server.name, server.tools);
  if (!advice) {
    cli::print_text(stderr, "the policies cannot be read: " + advice.error().what + "\n");
    return status;
  }
  for (const auto& item : *advice) print_advice(item, server.name);
  return status;
}

Result<int> add_server(const ParsedCommand& command) {
  if (command.words.size() < 2)
    return fail(Code::invalid, "a name, and a command or a URL, are needed",
                "for example: warder servers add files -- /usr/bin/mcp-files /workspace");
  CHECKED(check_call_flag(command));
  TRY(const Json entry, entry_of(command));
  const bool remote = entry.contains("url");
  const NameConflict on_conflict = command.has("replace") ? NameConflict::replace : NameConflict::refuse;
  OpenedNetwork network;  // closed again if the server is not added
  if (command.has("open-network")) {
    const ServerDropIns files = ServerDropIns::read(command);  // before the unit is changed
    CHECKED(files.check(command.words.front(), entry, on_conflict));
    CHECKED(check_daemons_files(command, RunningDaemon::find(command), files));
    TRY(network, OpenedNetwork::open());
  }
  TRY(const AddedServer added, add_entry(command, command.words.front(), entry, on_conflict));
  network.keep();
  if (remote && !command.has("open-network")) cli::print_text(stderr, network_advice(text(entry, "url")));
  return report_added(command, added);
}
const ProgramOfCommand kAddServer{"servers add", add_server};

Result<int> remove_server(const ParsedCommand& command) {
  Json report = Json::array();
  for (const auto& name : command.words) {
    ServerDropIns files = ServerDropIns::read(command);
    const RunningDaemon daemon = RunningDaemon::find(command);
    CHECKED(daemon.expect_same_configuration(files));
    CHECKED(check_rules_removable(command, name));
    TRY(const std::string text, files.remove(name));
    auto reloaded = daemon.reload(command, files);
    if (!reloaded) {
      CHECKED(restored(files, name, text, reloaded.error()));
      reloaded.error().code = Code::internal;
      return tl::unexpected<Error>(
          std::move(reloaded).error().within("nothing was removed, because the reload failed"));
    }
    // A later server of this name must not inherit its rights.
    const auto rules = removed_rules(command, name);
    if (!rules.empty() && *reloaded == RunningDaemon::Reloaded::yes) CHECKED(daemon.reload(command, files));
    Json changed = Json::array();
    for (const auto& rule : rules) changed.push_back(rule.file);
    report.push_back({{"name", name}, {"reloaded", *reloaded == RunningDaemon::Reloaded::yes}, {"rules", changed}});
    if (command.json) continue;
    cli::print_text(stdout, fmt::format("{}: removed\n", name));
    for (const auto& rule : rules)
      cli::print_text(
          stdout,
          fmt::format("{}: {}\n", rule.file,
                      rule.displayed.empty()
                          ? fmt::format("the rule \"server-{}\" was removed", name)
                          : fmt::format("removed: it had no other change to {}, which is read again", rule.displayed)));
    // Calls that run still need the program.
    if (const std::string folder = copied_program(text); !folder.empty())
      cli::print_text(stdout, fmt::format("its program stays in {}, for other servers; rm -r removes it\n", folder));
  }
  if (command.json) print_json(report);
  return 0;
}
const ProgramOfCommand kRemoveServer{"servers remove", remove_server};

}  // namespace admin
