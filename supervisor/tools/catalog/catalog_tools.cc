#include "supervisor/tools/catalog/catalog_tools.h"

#include "supervisor/tools/workspace_answers.h"

namespace tools {
namespace {

using Catalog = std::shared_ptr<const catalog::Catalog>;
using CatalogAnswer = mcp::ToolResult(const catalog::Catalog&, const Json&);

Task<mcp::ToolResult> answer_from(Catalog catalog, CatalogAnswer* answer, Json arguments) {
  co_return answer(*catalog, arguments);
}

Task<mcp::ToolResult> answer_search(Catalog catalog, discovery::SearchLearning& learning,
                                    Result<tenants::Requester> requester, LibraryOf library_of, Json arguments) {
  if (!requester) co_return failure(requester.error());
  auto library = library_of(*requester->tenant);
  co_return search_and_learn(*catalog, learning, *requester->tenant, *requester->policy,
                             library ? &library.value() : nullptr, arguments);
}

Task<mcp::ToolResult> answer_definition(Catalog catalog, discovery::SearchLearning& learning,
                                        Result<tenants::Requester> requester, Json arguments) {
  if (!requester) co_return failure(requester.error());
  co_return define_and_learn(*catalog, learning, *requester->tenant, *requester->policy, arguments);
}

}  // namespace

mcp::ToolResult search_and_learn(const catalog::Catalog& catalog, discovery::SearchLearning& learning,
                                 const tenants::Tenant& tenant, const policies::Policy& policy,
                                 const skills::Library* library, const Json& arguments) {
  const SearchContext context{learning.of(tenant.name(), policy.learning), tenant.name(), learning.thesaurus(),
                              library};
  auto result = search_tools(catalog, arguments, context);
  if (!result.is_error) learning.searched(tenant.name(), policy.learning, (*result.structured)["query"]);
  return result;
}

mcp::ToolResult define_and_learn(const catalog::Catalog& catalog, discovery::SearchLearning& learning,
                                 const tenants::Tenant& tenant, const policies::Policy& policy, const Json& arguments) {
  auto result = get_tool_definition(catalog, arguments);
  if (result.is_error) return result;
  const auto& server = (*result.structured)["mcp_server"];
  const catalog::Learning::Tool tool{server.is_string() ? server.get<std::string>() : std::string(),
                                     (*result.structured)["name"]};
  learning.chosen(catalog, tenant.name(), policy.learning, tool);
  return result;
}

void add_catalog_tools(mcp::Server& server, const discovery::CatalogOf& catalog_of,
                       const tenants::RequesterOf& requester_of, const LibraryOf& library_of,
                       discovery::SearchLearning& learning) {
  server.add_tool(search_tools_definition(), [catalog_of, requester_of, library_of, &learning](
                                                 mcp::RequestContext& context, Json arguments) {
    return answer_search(catalog_of(), learning, requester_of(context), library_of, std::move(arguments));
  });
  server.add_tool(get_tool_definition_definition(),
                  [catalog_of, requester_of, &learning](mcp::RequestContext& context, Json arguments) {
                    return answer_definition(catalog_of(), learning, requester_of(context), std::move(arguments));
                  });
  server.add_tool(list_tool_categories_definition(), [catalog_of](mcp::RequestContext&, Json arguments) {
    return answer_from(catalog_of(), list_tool_categories, std::move(arguments));
  });
}

}  // namespace tools
