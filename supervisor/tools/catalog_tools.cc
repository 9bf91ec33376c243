#include "supervisor/tools/catalog_tools.h"

namespace tools {
namespace {

using Answer = mcp::ToolResult(const catalog::Catalog&, const nlohmann::json&);

Task<mcp::ToolResult> answer_from(std::shared_ptr<const catalog::Catalog> catalog, Answer* answer,
                                  nlohmann::json arguments) {
  co_return answer(*catalog, arguments);
}

}  // namespace

void add_catalog_tools(mcp::Server& server, const CatalogOf& catalog_of) {
  auto add = [&](mcp::ToolDefinition definition, Answer* answer) {
    server.add_tool(std::move(definition), [catalog_of, answer](mcp::RequestContext&, nlohmann::json arguments) {
      return answer_from(catalog_of(), answer, std::move(arguments));
    });
  };
  add(search_tools_definition(), search_tools);
  add(get_tool_definition_definition(), get_tool_definition);
  add(list_tool_categories_definition(), list_tool_categories);
}

}  // namespace tools
