// The catalogue as resources and its names as completions: `tool:///{server}/{tool}` reads as get_tool_definition
// answers. And the prompt `solve_with_code`, for people to begin with; the languages complete its argument.
// Nothing is listed: search_tools finds tools, and thousands of them would cost every client its context.
#pragma once
#include "supervisor/mcp/server.h"
#include "supervisor/tools/catalog/catalog_tools.h"

namespace tools {

constexpr std::string_view kToolScheme = "tool:///";
constexpr std::string_view kToolTemplate = "tool:///{server}/{tool}";

void add_catalog_resources(mcp::Server& server, const discovery::CatalogOf& catalog_of, const AskerOf& asker_of);

}  // namespace tools
