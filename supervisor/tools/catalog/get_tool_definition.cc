#include <fmt/format.h>

#include "catalog/did_you_mean.h"
#include "catalog/stubs.h"
#include "supervisor/base/json/fields.h"
#include "supervisor/base/log.h"
#include "supervisor/tools/catalog/catalog_answers.h"
#include "supervisor/tools/catalog/catalog_tools.h"

namespace tools {
namespace {

constexpr size_t kMaxCandidates = 20;

struct DefinitionOrder {
  std::string name, category, server;
};

Result<DefinitionOrder> read_definition_order(const Json& arguments) {
  Fields in(arguments, "get_tool_definition");
  DefinitionOrder order;
  TRY(order.name, in.string("tool_name", 2000));
  TRY(order.category, in.string_or("category", ""));
  TRY(order.server, in.string_or("server", ""));
  CHECKED(in.done());
  return order;
}

// The line of Python that imports the tool's stub.
std::string import_line(const catalog::ToolView& tool) {
  catalog::UsedNames servers, tools;
  return fmt::format("from servers.{} import {}",
                     catalog::identifier(tool.server.empty() ? "other" : tool.server, servers),
                     catalog::identifier(tool.name, tools));
}

}  // namespace

mcp::ToolDefinition get_tool_definition_definition() {
  mcp::ToolDefinition tool;
  tool.name = "get_tool_definition";
  tool.description = "One tool's schemas.";
  tool.input_schema = Json::parse(R"({
    "type": "object",
    "properties": {
      "tool_name": {"type": "string"},
      "category": {"type": "string"},
      "server": {"type": "string"}
    },
    "required": ["tool_name"]
  })");
  tool.unlisted = {"server"};
  mark_read_only(tool);
  return tool;
}

Result<Json> get_tool_definition(const catalog::Catalog& catalog, const Json& arguments,
                                 std::optional<catalog::Learning::Tool>* chosen, Json* intended) {
  TRY(const DefinitionOrder order, read_definition_order(arguments));
  catalog::Named named = catalog.find(order.name, order.category, order.server);
  if (named.tools.empty()) {
    std::string unknown = fmt::format("no tool is named '{}'", printable(order.name, 128));
    if (!order.category.empty() || !order.server.empty()) unknown += " in that category or server";
    if (named.nearest.empty()) {
      const std::string reason = catalog::reason_for_no_tools(catalog);
      return fail(Code::not_found, std::move(unknown), reason.empty() ? "find it with search_tools" : reason);
    }
    if (intended) *intended = {{"nearest", describe_nearest(catalog, named.nearest)}};
    return fail(
        Code::not_found, std::move(unknown),
        catalog::did_you_mean(catalog, order.name, order.server) + " See nearest, or find it with search_tools");
  }
  if (named.tools.size() > 1) {
    const size_t count = named.tools.size();
    named.tools.resize(std::min(count, kMaxCandidates));
    if (intended) *intended = {{"candidates", name_all(catalog, named.tools)}};
    return fail(Code::invalid, fmt::format("{} tools are named '{}'", count, printable(order.name, 128)),
                "name the server, too");
  }
  const catalog::ToolView tool = catalog.tool(named.tools.front());
  Json answer = describe(catalog, named.tools.front(), Detail::full);
  if (!tool.callable) {
    answer["hint"] = fmt::format("{}: {}", catalog::kUncallable, catalog::kRemedyForUncallable);
  } else if (tool.kind == catalog::ToolKind::tool) {
    answer["import"] = import_line(tool);
  }
  if (chosen) *chosen = {std::string(tool.server), std::string(tool.name)};
  return answer;
}

}  // namespace tools
