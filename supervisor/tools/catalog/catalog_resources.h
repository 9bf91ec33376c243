// Catalog resources: tool definitions as resources, names of servers and tools as completions, and one prompt.
// `tool:///{server}/{tool}` reads as get_tool_definition answers. The prompt `solve_with_code` is a first task for
// people; its argument `language` completes to the languages of the policy. The list of resources is empty:
// search_tools finds tools, and a list of thousands would fill every client's context. Used by: supervisor/daemon/.
#pragma once
#include "supervisor/base/work.h"
#include "supervisor/protocol/mcp/server.h"
#include "supervisor/tools/catalog/catalog_tools.h"

namespace tools {

constexpr std::string_view kToolScheme = "tool:///";
constexpr std::string_view kToolTemplate = "tool:///{server}/{tool}";

void add_catalog_resources(mcp::Server& server, const discovery::CatalogOf& catalog_of,
                           const tenants::RequesterOf& requester_of, Work& work);

}  // namespace tools
