#include "supervisor/tenants/layers/offers.h"

#include <algorithm>
#include <set>

#include "supervisor/base/ascii.h"
#include "supervisor/tenants/layers/entry_rules.h"

namespace layers {
namespace {

bool is_identifier(std::string_view name) {
  return std::all_of(name.begin(), name.end(), [](char c) { return is_word(c); });
}

std::vector<std::string> first_of(const std::set<std::string, std::less<>>& names) {
  std::vector<std::string> list(names.begin(), names.end());
  if (list.size() > kMaxOffers) list.resize(kMaxOffers);
  return list;
}

}  // namespace

LayerOffers offers_of(const Manifest& manifest) {
  std::set<std::string, std::less<>> python, node;
  for (const LayerEntry& entry : manifest.entries) {
    const std::string_view module = python_module_of(entry.path);
    const bool is_code = entry.path.ends_with(".py") || entry.path.ends_with(".so");
    if (!module.empty() && is_code && module.front() != '_' && is_identifier(module)) python.emplace(module);
    const std::string_view package = node_module_of(entry.path);
    if (!package.empty() && entry.path.ends_with("/package.json") &&
        entry.path.size() == std::string_view(kNodeModules).size() + 1 + package.size() + 13)
      node.emplace(package);
  }
  return {first_of(python), first_of(node)};
}

}  // namespace layers
