// The discovery tools: search_tools, get_tool_definition and list_tool_categories, which answer from the catalogue of
// tool definitions. Each tool has its own file; catalog_answers.h has their common parts.
// Source: discovery::CatalogOf. Used by: supervisor/daemon/. Errors are answers
// `{success: false, error, code, remedy?}`.
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
#include "supervisor/tenants/requester.h"

namespace tools {

// Opens a tenant's skills; search_tools finds skills and tools.
using LibraryOf = std::function<Result<skills::Library>(tenants::Tenant&)>;

void add_catalog_tools(mcp::Server& server, const discovery::CatalogOf& catalog_of,
                       const tenants::RequesterOf& requester_of, const LibraryOf& library_of,
                       discovery::SearchLearning& learning);

// The calls of jailed code: search_tools and get_tool_definition as the tools of that name; list_tools {} ->
// ["server__tool"]; nearest_tools {server, tool?} -> {text, server, servers, tools}, for the error of an import of an
// unknown server or tool.
void add_catalog_calls(calls::GuestCalls& calls, const discovery::CatalogOf& catalog_of, const LibraryOf& library_of,
                       discovery::SearchLearning& learning);

// Both answer, and teach `learning`: a search is the tenant's last search, a definition is a tool chosen after it. The
// search also uses earlier lessons. `library` is nullptr if the tenant's skills cannot be read.
mcp::ToolResult search_and_learn(const catalog::Catalog& catalog, discovery::SearchLearning& learning,
                                 const tenants::Tenant& tenant, const policies::Policy& policy,
                                 const skills::Library* library, const Json& arguments);
mcp::ToolResult define_and_learn(const catalog::Catalog& catalog, discovery::SearchLearning& learning,
                                 const tenants::Tenant& tenant, const policies::Policy& policy, const Json& arguments);

mcp::ToolDefinition search_tools_definition();
mcp::ToolDefinition get_tool_definition_definition();
mcp::ToolDefinition list_tool_categories_definition();

mcp::ToolResult search_tools(const catalog::Catalog& catalog, const Json& arguments);
// SearchContext: the inputs of a search beside the catalogue.
struct SearchContext {
  const catalog::Learning* learned = nullptr;  // from earlier searches; nullptr: no learning
  std::string asker;                           // the tenant
  std::shared_ptr<const catalog::Thesaurus> thesaurus;
  // Fitting skills are entries of kind "skill" and category "skills", after the tools. If tools could fill the limit,
  // skills get at most two fifths of the limit. A skill that the query names, and no tool, comes first. nullptr: no
  // skills.
  const skills::Library* library = nullptr;
};
mcp::ToolResult search_tools(const catalog::Catalog& catalog, const Json& arguments, const SearchContext& context);
mcp::ToolResult get_tool_definition(const catalog::Catalog& catalog, const Json& arguments);
mcp::ToolResult list_tool_categories(const catalog::Catalog& catalog, const Json& arguments);

}  // namespace tools
