#include "supervisor/tools/catalog/catalog_tools.h"

namespace tools {
namespace {

SearchLearner learner_of(discovery::SearchLearning& learning, const tenants::Requester& requester) {
  return {learning, requester.tenant->name(), requester.policy->learning};
}

// An agent's error names the tools that it may have meant.
mcp::ToolResult failure_with(const Error& error, const Json& meant) {
  mcp::ToolResult result = mcp::ToolResult::error(error);
  if (meant.is_null()) return result;
  Json value = *std::move(result.structured);
  value.update(meant);
  result = mcp::ToolResult::data(std::move(value));
  result.is_error = true;
  return result;
}

Operation search_operation(const discovery::CatalogOf& catalog_of, const LibraryOf& library_of,
                           discovery::SearchLearning& learning) {
  return shared_operation(search_tools_definition(), [catalog_of, library_of, &learning](
                                                         const tenants::Requester& requester, Json arguments) {
    const auto library = library_of(*requester.tenant);
    const SearchLearner learner = learner_of(learning, requester);
    return ready(search_tools(*catalog_of(), arguments, &learner, library ? &*library : nullptr));
  });
}

Operation definition_operation(const discovery::CatalogOf& catalog_of, discovery::SearchLearning& learning) {
  auto define = [catalog_of, &learning](const tenants::Requester& requester, const Json& arguments, Json* meant) {
    const SearchLearner learner = learner_of(learning, requester);
    return get_tool_definition(*catalog_of(), arguments, &learner, meant);
  };
  Operation operation =
      shared_operation(get_tool_definition_definition(), [define](const tenants::Requester& requester, Json arguments) {
        return ready(define(requester, arguments, nullptr));
      });
  operation.agents = [define](mcp::RequestContext&, const tenants::Requester& requester, Json arguments) {
    Json meant;
    auto answer = define(requester, arguments, &meant);
    if (!answer) return ready<Result<mcp::ToolResult>>(failure_with(answer.error(), meant));
    return ready<Result<mcp::ToolResult>>(mcp::ToolResult::data(*std::move(answer)));
  };
  return operation;
}

}  // namespace

void add_catalog_tools(const OperationRegistry& registry, const discovery::CatalogOf& catalog_of,
                       const LibraryOf& library_of, discovery::SearchLearning& learning, discovery::StubTree& tree) {
  registry.add(search_operation(catalog_of, library_of, learning));
  registry.add(definition_operation(catalog_of, learning));
  registry.server().add_tool(list_tool_categories_definition(), [catalog_of](mcp::RequestContext&, Json arguments) {
    return ready(answer_for_agent(list_tool_categories(*catalog_of(), arguments)));
  });
  registry.add(code_operation("list_tools", [catalog_of](const tenants::Requester&, Json arguments) {
    return ready(list_tools(*catalog_of(), arguments));
  }));
  registry.add(code_operation("nearest_tools", [catalog_of](const tenants::Requester&, Json arguments) {
    return ready(nearest_tools(*catalog_of(), arguments));
  }));
  registry.add(stub_file_operation(tree));
}

}  // namespace tools
