#include "catalog/did_you_mean.h"

#include <fmt/format.h>

#include <algorithm>

namespace catalog {

std::string did_you_mean(const Catalog& catalog, std::string_view tool, std::string_view server) {
  const bool is_known_server = std::any_of(catalog.servers().begin(), catalog.servers().end(),
                                           [&](const Group& group) { return !server.empty() && group.name == server; });
  if (!server.empty() && !is_known_server) {
    const std::string_view near = catalog.nearest_server(server);
    if (!near.empty() && tool.empty()) return fmt::format("did you mean '{}'?", near);
    server = near;
  }
  if (tool.empty()) return {};
  const auto near = catalog.nearest_tools(tool, server);
  if (near.empty()) return {};
  const ToolView view = catalog.tool(near.front());
  return fmt::format("did you mean '{}{}{}'?", view.server, view.server.empty() ? "" : "__", view.name);
}

std::string reason_for_no_tools(const Catalog& catalog) {
  if (catalog.size() > 0) return {};
  if (catalog.upstream_servers() == 0)
    return "no tools yet: no upstream server is configured; an administrator adds servers in the configuration of "
           "warderd, under `servers`";
  const auto& unlearned = catalog.unlearned_servers();
  if (unlearned.empty()) return "the configured upstream servers have no tools";
  constexpr size_t kNamed = 5;
  std::string names = unlearned.front();
  for (size_t i = 1; i < std::min(unlearned.size(), kNamed); i++) names += ", " + unlearned[i];
  if (unlearned.size() > kNamed) names += ", ...";
  return fmt::format("no tools yet: the configured servers ({}) have not listed their tools; ask again in some seconds",
                     names);
}

}  // namespace catalog
