#include "supervisor/programs/cli/admin/declare.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "supervisor/base/ascii.h"

namespace admin {
namespace {

std::string long_name(std::string name) {
  if (auto comma = name.find(','); comma != std::string::npos) name.erase(0, comma + 1);
  return name.substr(name.find_first_not_of('-'));
}

void add_flag(CLI::App& command, const Flag& flag, ParsedCommand& parsed_command) {
  const std::string name = long_name(flag.name);
  if (!flag.argument) {
    auto take = [&parsed_command, name] { parsed_command.flags.emplace_back(name, ""); };
    command.add_flag_callback(flag.name, take, flag.text);
    return;
  }
  auto take = [&parsed_command, name](const std::vector<std::string>& values) {
    for (const auto& value : values) parsed_command.flags.emplace_back(name, value);
  };
  auto* option = command.add_option_function<std::vector<std::string>>(flag.name, take, flag.text);
  // Without this, a flag before the words would take all of them.
  option->type_name(flag.argument)->expected(1)->allow_extra_args(false);
  // Without this, a flag without its value would take the next flag.
  option->check(CLI::Validator(
      [](const std::string& value) { return std::string(value.starts_with("--") ? "its value is missing" : ""); }, ""));
  if (flag.times == Times::any) option->take_all();
}

// The App to which a command with this name is added, and the name that it has there: "check" for "policy check".
std::pair<CLI::App*, std::string> position_of(CLI::App& app, const std::string& name) {
  const auto space = name.find(' ');
  if (space == std::string::npos) return {&app, name};
  const std::string first = name.substr(0, space);
  const std::string rest = name.substr(space + 1);
  const auto groups = app.get_subcommands([&first](CLI::App* item) { return item->get_name() == first; });
  if (!groups.empty()) return {groups.front(), rest};  // a group, or a command of `warder` itself: "config"
  CLI::App* group = app.add_subcommand(first, group_summary(first));
  group->require_subcommand(1);
  return {group, rest};
}

// "execution" for "[EXECUTION...]", "proposal" for "PROPOSAL [PATH...]"
std::string positional_name(std::string_view words) {
  std::string name;
  for (const char c : words.substr(0, words.find(' ')))
    if (is_upper(c)) name += lower_case(c);
  return name;
}

void add_command(CLI::App& app, const Command& command, ParsedCommand& parsed_command) {
  const auto [group, name] = position_of(app, command.name);
  auto* added = group->add_subcommand(name, command.summary);
  if (command.daemon_call == DaemonCall::over_bus)
    added
        ->add_option("--bus", parsed_command.bus,
                     "The bus of warderd: system, session or an address; default: $WARDER_BUS, else the bus it is on")
        ->type_name("BUS");
  if (command.help == CommandHelp::hidden) added->group("");  // CLI11 hides a command without a group
  added->add_flag("--json", parsed_command.json, "Print JSON");
  for (const Flag& flag : command.flags) add_flag(*added, flag, parsed_command);
  if (!command.words) return;
  const bool optional = command.words[0] == '[';
  const bool several = std::string_view(command.words).find("...") != std::string_view::npos;
  added->add_option(positional_name(command.words), parsed_command.words, command.words_text)
      ->type_name(command.words)
      ->required(!optional)
      ->expected(1, several ? 1000 : 1);
}

}  // namespace

void declare_commands(CLI::App& app, ParsedCommand& parsed_command) {
  for (const Command& command : commands()) add_command(app, command, parsed_command);
}

std::vector<std::string> take_command_line(int& argc, char** argv) {
  const std::vector<std::string> words(argv, argv + argc);
  const auto dashes = std::find(words.begin(), words.end(), "--");
  std::string before;
  for (auto word = words.begin(); word != dashes; ++word) before += " " + *word;
  const auto& all = commands();
  const bool takes = std::any_of(all.begin(), all.end(), [&before](const Command& command) {
    return command.after_dashes == AfterDashes::command_line &&
           (before + " ").find(" " + std::string(command.name) + " ") != before.npos;
  });
  if (dashes == words.end() || !takes) return {};
  argc = static_cast<int>(dashes - words.begin());
  return std::vector<std::string>(dashes + 1, words.end());
}

void declare_socket(CLI::App& app, std::string& socket) {
  app.add_option(
         "--socket", socket,
         "The socket of warderd; default: $WARDER_SOCKET, $XDG_RUNTIME_DIR/warder/mcp.sock or /run/warder/mcp.sock")
      ->type_name("PATH");
}

std::string requested_command(const CLI::App& app) {
  std::string path;
  for (const CLI::App* at = &app; !at->get_subcommands().empty();) {
    at = at->get_subcommands().front();
    path += (path.empty() ? "" : " ") + at->get_name();
  }
  return path;
}

}  // namespace admin
