// The discovery tools: search_tools, get_tool_definition and list_tool_categories, which answer from the catalogue of
// tool definitions; and the guest calls that only jailed code has. Each has its own file; catalog_answers.h has their
// common parts. Source: discovery::CatalogOf. Used by: supervisor/daemon/. Errors: invalid, not_found.
#pragma once
#include <functional>
#include <memory>
#include <optional>

#include "catalog/catalog.h"
#include "skills/library.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/work.h"
#include "supervisor/protocol/mcp/registry.h"
#include "supervisor/tools/operation.h"
#include "supervisor/upstream/discovery/catalog_watch.h"
#include "supervisor/upstream/discovery/search_learning.h"
#include "supervisor/upstream/discovery/stub_tree.h"

namespace tools {

// Opens a tenant's skills; search_tools finds skills and tools.
using LibraryOf = std::function<Task<Result<skills::Library>>(std::shared_ptr<tenants::Tenant>)>;

// Adds search_tools and get_tool_definition for agents and for jailed code, list_tool_categories for agents, and
// list_tools, nearest_tools and stub_file for jailed code. Learning and tree must outlive all calls.
// All search in the catalogue happens in jobs of `work`: its words and definitions are those of servers.
void add_catalog_tools(const OperationRegistry& registry, const discovery::CatalogOf& catalog_of,
                       const LibraryOf& library_of, discovery::SearchLearning& learning, discovery::StubTree& tree,
                       Work& work);

mcp::ToolDefinition search_tools_definition();
mcp::ToolDefinition get_tool_definition_definition();
mcp::ToolDefinition list_tool_categories_definition();

// SearchLearner: a tenant whose earlier searches rank the tools found, and whose search or choice of a tool is learned.
struct SearchLearner {
  discovery::SearchLearning& learning;
  const std::string& tenant;
  policies::LearningScope scope;
};

// The part of a search that belongs to the loop: the arguments, the tenant's learning and the thesaurus (`learner`),
// the skills (`library`). The search becomes the tenant's last search. Both may be nullptr.
struct SearchOrder;
Result<std::shared_ptr<SearchOrder>> prepare_search(const Json& arguments, const SearchLearner* learner = nullptr,
                                                    const skills::Library* library = nullptr);
// A job. Fitting skills are entries of kind "skill" and category "skills", after the tools. If tools could fill the
// limit, skills get at most two fifths of the limit. A skill that the query names, and no tool, comes first.
Json search_tools(const catalog::Catalog& catalog, SearchOrder& order, WorkMeter& meter);
// A job. `chosen`: the tool, which is chosen after the last search. `intended`: after an error, {nearest: [...]} or
// {candidates: [...]} for the tools that the caller may have meant, else null. Both may be nullptr.
Result<Json> get_tool_definition(const catalog::Catalog& catalog, const Json& arguments,
                                 std::optional<catalog::Learning::Tool>* chosen = nullptr, Json* intended = nullptr);
Result<Json> list_tool_categories(const catalog::Catalog& catalog, const Json& arguments);

// {} -> ["server__tool"]: the tools' names, in the form that get_tool_definition and call_tool accept.
Result<Json> list_tools(const catalog::Catalog& catalog, const Json& arguments);
// {server, tool?} -> {text, server, servers, tools}: the servers and tools with the most similar names, for the error
// of an import of an unknown server or tool.
Result<Json> nearest_tools(const catalog::Catalog& catalog, const Json& arguments);
// stub_file {path} -> {content}: one file below /servers that the jail does not have yet. Errors: invalid, not_found.
Operation stub_file_operation(discovery::StubTree& tree, Work& work);

}  // namespace tools
