// What jailed code asks of the catalogue: the tools' own answers as values, their failures as errors.
#include <fmt/format.h>

#include "supervisor/base/fields.h"
#include "supervisor/base/log.h"
#include "supervisor/tools/catalog_tools.h"

using nlohmann::json;

namespace tools {
namespace {

constexpr size_t kMaxListed = 2000;

Result<json> value_of(const mcp::ToolResult& result) {
  const json answer = *result.structured;
  if (!result.is_error) return answer;
  const Code code = answer.value("code", "") == code_name(Code::not_found) ? Code::not_found : Code::invalid;
  return fail(code, answer.value("error", "it failed"), answer.value("remedy", ""));
}

Task<Result<json>> search(std::shared_ptr<const catalog::Catalog> catalog, SearchLearning& learning,
                          const GuestCaller& caller, LibraryOf library_of, json arguments) {
  auto library = library_of(caller.tenant);
  co_return value_of(search_and_learn(*catalog, learning, caller.tenant, caller.policy,
                                      library ? &library.value() : nullptr, arguments));
}

Task<Result<json>> define(std::shared_ptr<const catalog::Catalog> catalog, SearchLearning& learning,
                          const GuestCaller& caller, json arguments) {
  co_return value_of(define_and_learn(*catalog, learning, caller.tenant, caller.policy, arguments));
}

// Names that get_tool_definition and call_tool take.
Result<json> list(const catalog::Catalog& catalog, const json& arguments) {
  Fields in(arguments, "list_tools");
  CHECKED(in.done());
  json names = json::array();
  for (uint32_t number = 0; number < catalog.size() && names.size() < kMaxListed; number++) {
    const catalog::ToolView tool = catalog.tool(number);
    if (tool.kind == catalog::Kind::tool)
      names.push_back(tool.server.empty() ? std::string(tool.name) : fmt::format("{}__{}", tool.server, tool.name));
  }
  return names;
}

Task<Result<json>> list_all(std::shared_ptr<const catalog::Catalog> catalog, json arguments) {
  co_return list(*catalog, arguments);
}

}  // namespace

void add_catalog_calls(GuestCalls& calls, const CatalogOf& catalog_of, const LibraryOf& library_of,
                       SearchLearning& learning) {
  calls.add("search_tools", [catalog_of, library_of, &learning](const GuestCaller& caller, json arguments) {
    return search(catalog_of(), learning, caller, library_of, std::move(arguments));
  });
  calls.add("get_tool_definition", [catalog_of, &learning](const GuestCaller& caller, json arguments) {
    return define(catalog_of(), learning, caller, std::move(arguments));
  });
  calls.add("list_tools",
            [catalog_of](const GuestCaller&, json arguments) { return list_all(catalog_of(), std::move(arguments)); });
}

}  // namespace tools
