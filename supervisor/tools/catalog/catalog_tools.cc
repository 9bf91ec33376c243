#include "supervisor/tools/catalog/catalog_tools.h"

#include <utility>

#include "policies/learning_scope.h"
#include "policies/policy_parts.h"
#include "supervisor/protocol/mcp/context.h"
#include "supervisor/tenants/tenant.h"
#include "supervisor/upstream/calls/call_context.h"

namespace tools {
namespace {

using CatalogPtr = std::shared_ptr<const catalog::Catalog>;

SearchLearner learner_of(discovery::SearchLearning& learning, const tenants::Requester& requester) {
  return {learning, requester.tenant->name(), policies::learning_of(*requester.policy)};
}

// An agent's error names the tools that it may have meant.
mcp::ToolResult failure_with(const Error& error, const Json& intended) {
  mcp::ToolResult result = mcp::ToolResult::error(error);
  if (intended.is_null()) return result;
  Json value = *std::move(result.structured);
  value.update(intended);
  result = mcp::ToolResult::data(std::move(value));
  result.is_error = true;
  return result;
}

// What an answer from the catalogue needs. One for all operations.
struct CatalogSources {
  discovery::CatalogOf catalog_of;
  LibraryOf library_of;
  discovery::SearchLearning& learning;
  Work& work;
};
using SourcesPtr = std::shared_ptr<const CatalogSources>;

Task<Result<Json>> search(SourcesPtr from, const tenants::Requester& requester, Json arguments) {
  const auto library = co_await from->library_of(requester.tenant);
  const CatalogPtr catalog = from->catalog_of();
  const SearchLearner learner = learner_of(from->learning, requester);
  CO_TRY(auto order, prepare_search(arguments, &learner, library ? &*library : nullptr));
  std::function<Result<Json>(WorkMeter&)> job = [catalog, order = std::move(order)](WorkMeter& meter) {
    return search_tools(*catalog, *order, meter);
  };
  auto answer = co_await from->work.run(calls::owner_of(requester), 0, std::move(job));
  co_return answer;
}

struct Definition {
  Result<Json> value;
  std::optional<catalog::Learning::Tool> chosen;
  Json meant;
};

Task<Result<std::shared_ptr<Definition>>> define(SourcesPtr from, const tenants::Requester& requester, Json arguments) {
  const CatalogPtr catalog = from->catalog_of();
  std::function<Result<std::shared_ptr<Definition>>()> job = [catalog, arguments = std::move(arguments)] {
    auto definition = std::make_shared<Definition>();
    definition->value = get_tool_definition(*catalog, arguments, &definition->chosen, &definition->meant);
    return definition;
  };
  CO_TRY(auto match, co_await from->work.run(calls::owner_of(requester), 0, std::move(job)));
  const SearchLearner learner = learner_of(from->learning, requester);
  if (match->chosen) learner.learning.chosen(*catalog, learner.tenant, learner.scope, *match->chosen);
  co_return match;
}

Task<Result<Json>> define_for_code(SourcesPtr from, const tenants::Requester& requester, Json arguments) {
  CO_TRY(const auto match, co_await define(std::move(from), requester, std::move(arguments)));
  co_return std::move(match->value);
}

Task<Result<mcp::ToolResult>> define_for_agent(SourcesPtr from, const tenants::Requester& requester, Json arguments) {
  CO_TRY(const auto match, co_await define(std::move(from), requester, std::move(arguments)));
  if (!match->value) co_return failure_with(match->value.error(), match->meant);
  co_return mcp::ToolResult::data(*std::move(match->value));
}

Operation definition_operation(const SourcesPtr& from) {
  Operation operation =
      shared_operation(get_tool_definition_definition(), [from](const tenants::Requester& requester, Json arguments) {
        return define_for_code(from, requester, std::move(arguments));
      });
  operation.agents = [from](mcp::RequestContext&, const tenants::Requester& requester, Json arguments) {
    return define_for_agent(from, requester, std::move(arguments));
  };
  return operation;
}

// `answer` is a job: it gets the catalogue and the arguments.
using CatalogAnswer = Result<Json> (*)(const catalog::Catalog& catalog, const Json& arguments);

Task<Result<Json>> answer_in_turn(SourcesPtr from, Work::Owner owner, CatalogAnswer answer, Json arguments) {
  std::function<Result<Json>()> job = [catalog = from->catalog_of(), answer, arguments = std::move(arguments)] {
    return answer(*catalog, arguments);
  };
  auto value = co_await from->work.run(std::move(owner), 0, std::move(job));
  co_return value;
}

Operation answer_for_code(std::string name, const SourcesPtr& from, CatalogAnswer answer) {
  return code_operation(std::move(name), [from, answer](const tenants::Requester& requester, Json arguments) {
    return answer_in_turn(from, calls::owner_of(requester), answer, std::move(arguments));
  });
}

Task<mcp::ToolResult> list_categories(SourcesPtr from, Work::Owner owner, Json arguments) {
  auto value = co_await answer_in_turn(std::move(from), std::move(owner), list_tool_categories, std::move(arguments));
  co_return answer_for_agent(std::move(value));
}

}  // namespace

void add_catalog_tools(const OperationRegistry& registry, const discovery::CatalogOf& catalog_of,
                       const LibraryOf& library_of, discovery::SearchLearning& learning, discovery::StubTree& tree,
                       Work& work) {
  const SourcesPtr from(new CatalogSources{catalog_of, library_of, learning, work});
  registry.add(shared_operation(search_tools_definition(), [from](const tenants::Requester& requester, Json arguments) {
    return search(from, requester, std::move(arguments));
  }));
  registry.add(definition_operation(from));
  registry.server().add_tool(list_tool_categories_definition(), [from](mcp::RequestContext& context, Json arguments) {
    return list_categories(from, Work::Owner{context.principal.displayed()}, std::move(arguments));
  });
  registry.add(answer_for_code("list_tools", from, list_tools));
  registry.add(answer_for_code("nearest_tools", from, nearest_tools));
  registry.add(stub_file_operation(tree, work));
}

}  // namespace tools
