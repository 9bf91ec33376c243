// The calls of jailed code about the catalogue. A tool's answer becomes the value, its failure becomes an error.
#include <fmt/format.h>

#include "catalog/did_you_mean.h"
#include "supervisor/base/fields.h"
#include "supervisor/base/log.h"
#include "supervisor/tools/catalog/catalog_answers.h"
#include "supervisor/tools/catalog/catalog_tools.h"

namespace tools {
namespace {

constexpr size_t kMaxNamesListed = 2000;
constexpr size_t kMaxServers = 41;  // an error names 40; the 41st shows that there are more

Result<Json> value_of(const mcp::ToolResult& result) {
  const Json answer = *result.structured;
  if (!result.is_error) return answer;
  const Code code = answer.value("code", "") == code_name(Code::not_found) ? Code::not_found : Code::invalid;
  return fail(code, answer.value("error", "it failed"), answer.value("remedy", ""));
}

Task<Result<Json>> search_call(std::shared_ptr<const catalog::Catalog> catalog, discovery::SearchLearning& learning,
                               const calls::GuestCaller& caller, LibraryOf library_of, Json arguments) {
  auto library = library_of(*caller.tenant);
  co_return value_of(search_and_learn(*catalog, learning, *caller.tenant, *caller.policy,
                                      library ? &library.value() : nullptr, arguments));
}

Task<Result<Json>> definition_call(std::shared_ptr<const catalog::Catalog> catalog, discovery::SearchLearning& learning,
                                   const calls::GuestCaller& caller, Json arguments) {
  co_return value_of(define_and_learn(*catalog, learning, *caller.tenant, *caller.policy, arguments));
}

// The tools' names, in the form that get_tool_definition and call_tool accept.
Result<Json> list(const catalog::Catalog& catalog, const Json& arguments) {
  Fields in(arguments, "list_tools");
  CHECKED(in.done());
  Json names = Json::array();
  for (uint32_t number = 0; number < catalog.size() && names.size() < kMaxNamesListed; number++) {
    const catalog::ToolView tool = catalog.tool(number);
    if (tool.kind == catalog::Kind::tool)
      names.push_back(tool.server.empty() ? std::string(tool.name) : fmt::format("{}__{}", tool.server, tool.name));
  }
  return names;
}

// The servers and tools with the most similar names, for an unknown server or tool.
Result<Json> near(const catalog::Catalog& catalog, const Json& arguments) {
  Fields in(arguments, "nearest_tools");
  TRY(const std::string server, in.string("server", 2000));
  TRY(const std::string tool, in.string_or("tool", "", 2000));
  CHECKED(in.done());
  const std::string_view meant = catalog.nearest_server(server);
  Json answer = {{"text", catalog::did_you_mean(catalog, tool, server)},
                 {"server", meant.empty() ? Json(nullptr) : Json(std::string(meant))},
                 {"servers", Json::array()},
                 {"tools", Json::array()}};
  for (const catalog::Group& one : catalog.servers())
    if (!one.name.empty() && answer["servers"].size() < kMaxServers) answer["servers"].push_back(one.name);
  if (!tool.empty()) answer["tools"] = name_all(catalog, catalog.nearest_tools(tool, meant));
  return answer;
}

Task<Result<Json>> near_all(std::shared_ptr<const catalog::Catalog> catalog, Json arguments) {
  co_return near(*catalog, arguments);
}

Task<Result<Json>> list_all(std::shared_ptr<const catalog::Catalog> catalog, Json arguments) {
  co_return list(*catalog, arguments);
}

}  // namespace

void add_catalog_calls(calls::GuestCalls& calls, const discovery::CatalogOf& catalog_of, const LibraryOf& library_of,
                       discovery::SearchLearning& learning) {
  calls.add("search_tools", [catalog_of, library_of, &learning](const calls::GuestCaller& caller, Json arguments) {
    return search_call(catalog_of(), learning, caller, library_of, std::move(arguments));
  });
  calls.add("get_tool_definition", [catalog_of, &learning](const calls::GuestCaller& caller, Json arguments) {
    return definition_call(catalog_of(), learning, caller, std::move(arguments));
  });
  calls.add("list_tools", [catalog_of](const calls::GuestCaller&, Json arguments) {
    return list_all(catalog_of(), std::move(arguments));
  });
  calls.add("nearest_tools", [catalog_of](const calls::GuestCaller&, Json arguments) {
    return near_all(catalog_of(), std::move(arguments));
  });
}

}  // namespace tools
