// The discovery tools: three MCP tools that answer from the catalogue of tool definitions. One file per tool; what they
// share is in catalog_answers.h. Errors are answers `{success: false, error, code, remedy?}`.
#pragma once
#include <functional>
#include <memory>

#include "catalog/catalog.h"
#include "skills/library.h"
#include "supervisor/base/json_value.h"
#include "supervisor/calls/guest_calls.h"
#include "supervisor/discovery/catalog_watch.h"
#include "supervisor/discovery/search_learning.h"
#include "supervisor/mcp/registry.h"
#include "supervisor/mcp/server.h"
#include "supervisor/tools/asker.h"

namespace tools {

// A tenant's skills, which are found beside tools.
using LibraryOf = std::function<Result<skills::Library>(tenants::Tenant&)>;

void add_catalog_tools(mcp::Server& server, const discovery::CatalogOf& catalog_of, const AskerOf& asker_of,
                       const LibraryOf& library_of, discovery::SearchLearning& learning);

// For jailed code: search_tools and get_tool_definition as the tools of that name; list_tools {} -> ["server__tool"];
// nearest_tools {server, tool?} -> {text, server, servers, tools}: what to say of an import of what is not there.
void add_catalog_calls(calls::GuestCalls& calls, const discovery::CatalogOf& catalog_of, const LibraryOf& library_of,
                       discovery::SearchLearning& learning);

// The answer, with what the tenant's searches have taught, and what this one teaches. nullptr: no skills.
mcp::ToolResult search_and_learn(const catalog::Catalog& catalog, discovery::SearchLearning& learning,
                                 const tenants::Tenant& tenant, const policies::Policy& policy,
                                 const skills::Library* library, const Json& arguments);
mcp::ToolResult define_and_learn(const catalog::Catalog& catalog, discovery::SearchLearning& learning,
                                 const tenants::Tenant& tenant, const policies::Policy& policy, const Json& arguments);

mcp::ToolDefinition search_tools_definition();
mcp::ToolDefinition get_tool_definition_definition();
mcp::ToolDefinition list_tool_categories_definition();

mcp::ToolResult search_tools(const catalog::Catalog& catalog, const Json& arguments);
// What a search knows beside the catalogue.
struct SearchContext {
  const catalog::Learning* learned = nullptr;  // what earlier searches meant
  std::string asker;                           // the tenant
  std::shared_ptr<const catalog::Thesaurus> thesaurus;
  // Skills that fit are entries of kind "skill" in category "skills", behind the tools, in at most two fifths of the
  // places where tools could fill them all. nullptr: none.
  const skills::Library* library = nullptr;
};
mcp::ToolResult search_tools(const catalog::Catalog& catalog, const Json& arguments, const SearchContext& context);
mcp::ToolResult get_tool_definition(const catalog::Catalog& catalog, const Json& arguments);
mcp::ToolResult list_tool_categories(const catalog::Catalog& catalog, const Json& arguments);

}  // namespace tools
