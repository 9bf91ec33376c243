#include "supervisor/programs/cli/usage.h"

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/programs/cli/admin/declare.h"

namespace cli {
namespace {

const CLI::App& innermost(const CLI::App& app) {
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
  return *at;
}

// "check, show or explain"
std::string commands_of(const CLI::App& app) {
  const auto all = app.get_subcommands([](const CLI::App* item) { return !item->get_group().empty(); });
  std::string names;
  for (size_t i = 0; i < all.size(); i++)
    names += (i == 0 ? "" : i + 1 == all.size() ? " or " : ", ") + all[i]->get_name();
  return names;
}

// The positional argument of the command, by the name that --help shows: "EXECUTION...".
std::string positional_of(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options())
    if (option->get_positional() && option->get_required()) return option->get_type_name();
  return {};
}

std::string without_ending(std::string text, std::string_view ending) {
  if (text.ends_with(ending)) text.erase(text.size() - ending.size());
  return text;
}

bool has_commands(const CLI::App& command) {
  return !command.get_subcommands([](const CLI::App*) { return true; }).empty();
}

std::string unexpected_word(const CLI::App& app, const CLI::App& command) {
  const auto words = app.remaining(true);
  if (words.empty()) return "an argument is not expected";
  const std::string word = "'" + words.front().substr(0, 64) + "'";
  if (word[1] == '-') return word + " is not a flag of this command";
  if (has_commands(command)) return "no command is called " + word;
  return word + " is not expected: all arguments of this command are there already";
}

std::string missing_part(const CLI::App& app, const CLI::App& command) {
  if (!has_commands(command)) {
    const std::string name = without_ending(positional_of(command), "...");
    return name.empty() ? "an argument is missing" : name + " is missing";
  }
  if (!app.remaining(true).empty()) return unexpected_word(app, command);
  if (&command == &app) return "a command is missing";
  return "a command is missing: " + commands_of(command);
}

// CLI11: "--bus: 1 required BUS missing".
std::string missing_value(std::string_view text) {
  const size_t colon = text.find(": ");
  const std::string flag(text.substr(0, colon));
  return flag.starts_with('-') ? flag + " needs a value" : std::string(text);
}

}  // namespace

Error usage_error(const CLI::App& app, const CLI::ParseError& wrong) {
  const CLI::App& command = innermost(app);
  const std::string path = admin::requested_command(app);
  Error error{Code::invalid, 0, wrong.what(), "see: warder " + path + (path.empty() ? "" : " ") + "--help", {}};
  if (dynamic_cast<const CLI::ExtrasError*>(&wrong)) {
    error.what = unexpected_word(app, command);
  } else if (dynamic_cast<const CLI::RequiredError*>(&wrong)) {
    error.what = missing_part(app, command);
    for (const CLI::Option* option : command.get_options())
      if (option->get_positional() && option->get_required())
        error.hint = option->get_type_name() + ": " + option->get_description() + "; " + error.hint;
  } else if (dynamic_cast<const CLI::ArgumentMismatch*>(&wrong)) {
    error.what = missing_value(wrong.what());
  }
  return error;
}

}  // namespace cli
