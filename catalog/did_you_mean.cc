#include "catalog/did_you_mean.h"

#include <fmt/format.h>

#include <algorithm>

namespace catalog {

std::string did_you_mean(const Catalog& catalog, std::string_view tool, std::string_view server) {
  const bool known = std::any_of(catalog.servers().begin(), catalog.servers().end(),
                                 [&](const Group& one) { return !server.empty() && one.name == server; });
  if (!server.empty() && !known) {
    const std::string_view near = catalog.nearest_server(server);
    if (!near.empty() && tool.empty()) return fmt::format("did you mean '{}'?", near);
    server = near;
  }
  if (tool.empty()) return {};
  const auto near = catalog.nearest_tools(tool, server);
  if (near.empty()) return {};
  const ToolView meant = catalog.tool(near.front());
  return fmt::format("did you mean '{}{}{}'?", meant.server, meant.server.empty() ? "" : "__", meant.name);
}

}  // namespace catalog
