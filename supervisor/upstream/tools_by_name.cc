// Servers and their tools by name, as callers, stubs and the definitions spell them.
#include "supervisor/upstream/upstream_servers.h"

#include "supervisor/base/ascii.h"

namespace upstream {
namespace {

// A name in the spelling of identifiers: small letters, digits, and '_' for all other bytes, without a '_' at the end.
// Stubs add that '_' to keywords of a language.
std::string spelled(std::string_view name) {
  std::string plain = lower_case(name.substr(0, 512));
  for (char& c : plain)
    if (!is_alnum(c)) c = '_';
  while (plain.ends_with('_')) plain.pop_back();
  return plain;
}

// The only key of the map with the same spelling as `name`. Empty: there is no key, or more than one.
template <class Map>
std::string_view find_by_spelling(const Map& map, std::string_view name) {
  const std::string requested = spelled(name);
  std::string_view target;
  if (requested.empty()) return target;
  for (const auto& [key, value] : map) {
    if (spelled(key) != requested) continue;
    if (!target.empty()) return {};
    target = key;
  }
  return target;
}

}  // namespace

const DefinitionsOfServer* UpstreamServers::Server::known_for(std::string_view tenant) const {
  if (known) return known.get();
  const auto own = known_of.find(tenant);
  return own == known_of.end() ? nullptr : own->second.get();
}

std::shared_ptr<const KnownTool> UpstreamServers::known_tool(std::string_view tenant, std::string_view server,
                                                             std::string_view tool) const {
  const ServerPtr found = find(server);
  const DefinitionsOfServer* definitions = found ? found->known_for(tenant) : nullptr;
  if (!definitions) return nullptr;
  const auto it = definitions->definitions.tools.find(tool);
  return it == definitions->definitions.tools.end() ? nullptr : it->second;
}

std::vector<std::string> UpstreamServers::own_tools(std::string_view tenant, std::string_view server) const {
  constexpr size_t kMaxNames = 20;
  const ServerPtr found = find(server);
  const DefinitionsOfServer* own = found && !found->known ? found->known_for(tenant) : nullptr;
  std::vector<std::string> names;
  if (!own) return names;
  for (const auto& [name, tool] : own->definitions.tools)
    if (names.size() < kMaxNames) names.push_back(name);
  return names;
}

std::shared_ptr<ObservedResults> UpstreamServers::observed_results(std::string_view server,
                                                                   const KnownTool& tool) const {
  const ServerPtr found = find(server);
  if (!found || !found->known || !found->config.observe || tool.output_schema()) return nullptr;
  return found->known->definitions.observed;
}

bool UpstreamServers::writes_workspace(std::string_view server) const {
  auto it = servers_.find(server);
  return it != servers_.end() && it->second->config.tenants_folder;
}

std::string_view UpstreamServers::intended_server(std::string_view name) const {
  const auto exact = servers_.find(name);
  return exact != servers_.end() ? std::string_view(exact->first) : find_by_spelling(servers_, name);
}

std::string UpstreamServers::intended_tool(std::string_view tenant, std::string_view server,
                                           std::string_view tool) const {
  const ServerPtr found = find(server);
  const DefinitionsOfServer* definitions = found ? found->known_for(tenant) : nullptr;
  if (!definitions || definitions->definitions.tools.contains(tool)) return std::string(tool);
  const std::string_view target = find_by_spelling(definitions->definitions.tools, tool);
  return std::string(target.empty() ? tool : target);
}

std::optional<std::pair<std::string, std::string>> UpstreamServers::split(std::string_view name) const {
  for (const bool exactly : {true, false}) {
    for (std::string_view mark : {"__", ".", ":", "/"}) {
      for (size_t at = name.find(mark); at != name.npos; at = name.find(mark, at + 1)) {
        const std::string_view server = exactly ? name.substr(0, at) : intended_server(name.substr(0, at));
        if (!has(server)) continue;
        return std::pair(std::string(server), std::string(name.substr(at + mark.size())));
      }
    }
  }
  return {};
}

}  // namespace upstream
