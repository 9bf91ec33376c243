#include "supervisor/configuration/load.h"

#include <fmt/format.h>

namespace configuration {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    if (end > at) lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

std::string summary_of(const std::vector<std::string>& problems) {
  if (problems.size() < 2) return problems.empty() ? "" : problems.front();
  return fmt::format("{} (and {} more)", problems.front(), problems.size() - 1);
}

LoadedConfiguration load(const Invocation& invocation, const policies::Store* current) {
  LoadedConfiguration loaded;
  loaded.document = ConfigurationDocument::read(invocation, loaded.notes.problems);
  loaded.options = read_options(loaded.document, invocation, loaded.notes);
  const auto& folders = loaded.options.policies;
  auto store = current ? current->read_folders(folders) : policies::Store::load(folders, policies::mode_of(folders));
  if (!store) {
    for (auto& line : lines_of(store.error().what)) loaded.notes.problems.push_back(std::move(line));
    return loaded;
  }
  for (const auto& warning : store->warnings()) loaded.notes.warnings.push_back(warning);
  loaded.policies = *std::move(store);
  return loaded;
}

}  // namespace configuration
