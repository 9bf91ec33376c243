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

Result<json> search(const catalog::Catalog& catalog, const json& arguments) {
  return value_of(search_tools(catalog, arguments));
}

Result<json> define(const catalog::Catalog& catalog, const json& arguments) {
  return value_of(get_tool_definition(catalog, arguments));
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

// There is nobody yet who could carry the call: said of tools that exist, so that nobody looks for a mistake of his
// own.
Result<json> call(const catalog::Catalog& catalog, const json& arguments) {
  Fields in(arguments, "call_tool");
  TRY(const std::string name, in.string("name"));
  TRY(const std::string server, in.string_or("server", ""));
  in.find("arguments");
  CHECKED(in.done());
  const catalog::Named meant = catalog.find(name, {}, server);
  if (meant.tools.empty())
    return fail(Code::not_found, fmt::format("no tool is named '{}'", printable(name, 128)),
                "find it with search_tools");
  const catalog::ToolView tool = catalog.tool(meant.tools.front());
  return fail(Code::unavailable,
              fmt::format("'{}' of '{}' is known, but cannot be called from code: this daemon has no bridge to the "
                          "servers of other tools",
                          tool.name, tool.server),
              "let your client call it, and hand the answer to the code as context_vars or as a workspace file");
}

using Answer = Result<json>(const catalog::Catalog&, const json&);

Task<Result<json>> answer_from(std::shared_ptr<const catalog::Catalog> catalog, Answer* answer, json arguments) {
  co_return answer(*catalog, arguments);
}

}  // namespace

void add_catalog_calls(GuestCalls& calls, const CatalogOf& catalog_of) {
  auto add = [&](std::string name, Answer* answer) {
    calls.add(std::move(name), [catalog_of, answer](const GuestCaller&, json arguments) {
      return answer_from(catalog_of(), answer, std::move(arguments));
    });
  };
  add("search_tools", search);
  add("get_tool_definition", define);
  add("list_tools", list);
  add("call_tool", call);
}

}  // namespace tools
