#include "supervisor/tools/catalog_tools.h"

namespace tools {
namespace {

using Catalog = std::shared_ptr<const catalog::Catalog>;
using Answer = mcp::ToolResult(const catalog::Catalog&, const nlohmann::json&);

struct User {
  std::string tenant;
  policies::Learning learning;
};

Task<mcp::ToolResult> answer_from(Catalog catalog, Answer* answer, nlohmann::json arguments) {
  co_return answer(*catalog, arguments);
}

Task<mcp::ToolResult> search(Catalog catalog, SearchLearning& learning, User user, nlohmann::json arguments) {
  auto result = search_tools(*catalog, arguments, learning.of(user.tenant, user.learning));
  if (!result.is_error) learning.searched(user.tenant, user.learning, (*result.structured)["query"]);
  co_return result;
}

Task<mcp::ToolResult> define(Catalog catalog, SearchLearning& learning, User user, nlohmann::json arguments) {
  auto result = get_tool_definition(*catalog, arguments);
  if (!result.is_error) {
    const auto& server = (*result.structured)["mcp_server"];
    const catalog::Learning::Tool tool{server.is_string() ? server.get<std::string>() : std::string(),
                                       (*result.structured)["name"]};
    learning.chosen(*catalog, user.tenant, user.learning, tool);
  }
  co_return result;
}

}  // namespace

void add_catalog_tools(mcp::Server& server, const CatalogOf& catalog_of, const CatalogUserOf& user_of,
                       SearchLearning& learning) {
  auto user = [user_of](const mcp::RequestContext& context) {
    const CatalogUser one = user_of(context);
    return User{one.tenant, one.learning};
  };
  server.add_tool(search_tools_definition(),
                  [catalog_of, user, &learning](mcp::RequestContext& context, nlohmann::json arguments) {
                    return search(catalog_of(), learning, user(context), std::move(arguments));
                  });
  server.add_tool(get_tool_definition_definition(),
                  [catalog_of, user, &learning](mcp::RequestContext& context, nlohmann::json arguments) {
                    return define(catalog_of(), learning, user(context), std::move(arguments));
                  });
  server.add_tool(list_tool_categories_definition(), [catalog_of](mcp::RequestContext&, nlohmann::json arguments) {
    return answer_from(catalog_of(), list_tool_categories, std::move(arguments));
  });
}

}  // namespace tools
