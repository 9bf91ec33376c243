// The discovery tools: three MCP tools that answer from the catalogue of tool definitions. One file per tool; what they
// share is in catalog_answers.h. Errors are answers `{success: false, error, code, remedy?}`.
#pragma once
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>

#include "catalog/catalog.h"
#include "supervisor/mcp/registry.h"
#include "supervisor/mcp/server.h"
#include "supervisor/tools/guest_calls.h"
#include "supervisor/tools/search_learning.h"

namespace tools {

// The catalogue of this moment; a request keeps the one it began with.
using CatalogOf = std::function<std::shared_ptr<const catalog::Catalog>()>;

// Whose request it is, and whose searches teach.
struct CatalogUser {
  const std::string& tenant;
  policies::Learning learning;
};
using CatalogUserOf = std::function<CatalogUser(const mcp::RequestContext&)>;

void add_catalog_tools(mcp::Server& server, const CatalogOf& catalog_of, const CatalogUserOf& user_of,
                       SearchLearning& learning);

// For jailed code: search_tools and get_tool_definition as the tools of that name; list_tools {} -> ["server__tool"];
// call_tool {server?, name, arguments?} -> unavailable, in words: no server is connected to.
void add_catalog_calls(GuestCalls& calls, const CatalogOf& catalog_of);

mcp::ToolDefinition search_tools_definition();
mcp::ToolDefinition get_tool_definition_definition();
mcp::ToolDefinition list_tool_categories_definition();

mcp::ToolResult search_tools(const catalog::Catalog& catalog, const nlohmann::json& arguments);
// With what earlier searches meant; nullptr: nothing is known.
mcp::ToolResult search_tools(const catalog::Catalog& catalog, const nlohmann::json& arguments,
                             const catalog::Learning* learned);
mcp::ToolResult get_tool_definition(const catalog::Catalog& catalog, const nlohmann::json& arguments);
mcp::ToolResult list_tool_categories(const catalog::Catalog& catalog, const nlohmann::json& arguments);

}  // namespace tools
