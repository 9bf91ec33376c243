#include "supervisor/daemon/configuration/load.h"

#include <fmt/format.h>

#include <algorithm>

#include "supervisor/base/text_lines.h"
#include "supervisor/tenants/layers/layer_lookup.h"

namespace configuration {

bool has_key(const std::vector<Shortfall>& shortfalls, std::string_view key) {
  return std::any_of(shortfalls.begin(), shortfalls.end(),
                     [key](const Shortfall& shortfall) { return shortfall.key == key; });
}

std::vector<std::string> texts_of(const std::vector<Shortfall>& shortfalls) {
  std::vector<std::string> texts;
  for (const auto& shortfall : shortfalls) texts.push_back(shortfall.text);
  return texts;
}

std::string summary_of(const std::vector<std::string>& problems) {
  if (problems.size() < 2) return problems.empty() ? "" : problems.front();
  return fmt::format("{} (and {} more)", problems.front(), problems.size() - 1);
}

Notes add_token_rules(policies::Store& store, const std::vector<credentials::StoredToken>& tokens) {
  Notes notes;
  std::vector<policies::TokenRule> rules;
  for (const auto& token : tokens) rules.push_back(token.rule);
  store.set_token_rules(rules);
  for (const auto& token : tokens) {
    const std::string& policy = token.rule.policy;
    if (!policy.empty() && !store.find(policy)) {
      notes.problems.push_back(fmt::format("tokens.{}.policy: there is no valid policy \"{}\"", token.name, policy));
    } else if (const auto assigned = store.tenant_of(policies::TokenBearer{token.name}); !assigned) {
      notes.warnings.push_back(
          fmt::format("tokens.{}: {}, so it lets nobody in (add \"tenant\" to its entry, or "
                      "{{\"token\": \"{}\", \"policy\": ...}} to the rules of tenants.json)",
                      token.name, assigned.error().what, token.name));
    }
  }
  return notes;
}

LoadedConfiguration load(const Invocation& invocation, const policies::Store* current) {
  LoadedConfiguration loaded;
  loaded.document = ConfigurationDocument::read(invocation, loaded.notes.problems);
  loaded.options = read_options(loaded.document, invocation, loaded.notes);
  const auto& folders = loaded.options.policies;
  auto store = current ? current->read_folders(folders) : policies::Store::load(folders, policies::mode_of(folders));
  if (!store) {
    for (auto& line : lines_in(store.error().what, EmptyLines::left_out))
      loaded.notes.problems.push_back(std::move(line));
    return loaded;
  }
  for (const auto& warning : store->warnings()) loaded.notes.warnings.push_back(warning);
  auto of_layers = layers::give_layers(*store, loaded.options.state + "/layers");
  for (auto& problem : of_layers) loaded.notes.problems.push_back(std::move(problem));
  const Notes of_tokens = add_token_rules(*store, loaded.options.tokens);
  const std::string file = loaded.document.file_of("tokens");
  for (const auto& problem : of_tokens.problems) loaded.notes.problems.push_back(file + ": " + problem);
  for (const auto& warning : of_tokens.warnings) loaded.notes.warnings.push_back(file + ": " + warning);
  if (!of_tokens.problems.empty()) return loaded;
  loaded.policies = *std::move(store);
  return loaded;
}

}  // namespace configuration
