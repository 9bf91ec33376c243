#include "supervisor/programs/docgen/description.h"

#include <CLI/CLI.hpp>
#include <algorithm>

namespace docgen {
namespace {

// "FILE"; "python|javascript" where CLI11 says "TEXT:{python,javascript}".
std::string value_of(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0) return {};
  const std::string type = option.get_type_name();
  const size_t brace = type.find(":{");
  if (brace == type.npos) return type.substr(0, type.find(':'));
  std::string words = type.substr(brace + 2, type.find('}') - brace - 2);
  std::replace(words.begin(), words.end(), ',', '|');
  return words;
}

Argument describe_option(const CLI::Option& option) {
  Argument argument{{}, value_of(option), option.get_description()};
  for (const auto& name : option.get_snames()) argument.flags.push_back("-" + name);
  for (const auto& name : option.get_lnames()) argument.flags.push_back("--" + name);
  if (argument.flags.empty() && !option.get_required() && !argument.value.starts_with('['))
    argument.value = "[" + argument.value + "]";
  return argument;
}

Description describe_below(const CLI::App& app, std::string path) {
  Description all{std::move(path), app.get_description(), app.get_footer(), {}, {}};
  for (const CLI::Option* option : app.get_options()) all.arguments.push_back(describe_option(*option));
  for (const CLI::App* command : app.get_subcommands([](const CLI::App* item) { return !item->get_group().empty(); }))
    all.commands.push_back(describe_below(*command, all.path + " " + command->get_name()));
  return all;
}

}  // namespace

Description describe(const CLI::App& app) { return describe_below(app, app.get_name()); }

}  // namespace docgen
