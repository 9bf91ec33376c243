#include <fmt/format.h>

#include "catalog/did_you_mean.h"
#include "catalog/stubs.h"
#include "supervisor/base/fields.h"
#include "supervisor/base/log.h"
#include "supervisor/tools/catalog/catalog_answers.h"
#include "supervisor/tools/catalog/catalog_tools.h"
#include "supervisor/tools/workspace_answers.h"

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

mcp::ToolResult failure_with(const Error& error, const char* key, Json tools) {
  mcp::ToolResult result = failure(error);
  Json value = std::move(*result.structured);
  if (!tools.empty()) value[key] = std::move(tools);
  result = mcp::ToolResult::data(std::move(value));
  result.is_error = true;
  return result;
}

// The line of Python that imports the tool's stub.
std::string import_line(const catalog::ToolView& tool) {
  catalog::TakenNames servers, tools;
  return fmt::format("from servers.{} import {}",
                     catalog::identifier(tool.server.empty() ? "other" : tool.server, servers),
                     catalog::identifier(tool.name, tools));
}

}  // namespace

mcp::ToolDefinition get_tool_definition_definition() {
  mcp::ToolDefinition tool;
  tool.name = "get_tool_definition";
  tool.description = "One tool's schemas, and how to call it.";
  tool.input_schema = Json::parse(R"({
    "type": "object",
    "properties": {
      "tool_name": {"type": "string"},
      "category": {"type": "string"},
      "server": {"type": "string"}
    },
    "required": ["tool_name"]
  })");
  mark_read_only(tool);
  return tool;
}

mcp::ToolResult get_tool_definition(const catalog::Catalog& catalog, const Json& arguments) {
  auto order = read_definition_order(arguments);
  if (!order) return failure(order.error());
  catalog::Named meant = catalog.find(order->name, order->category, order->server);
  if (meant.tools.empty()) {
    Error unknown{Code::not_found,
                  0,
                  fmt::format("no tool is named '{}'", printable(order->name, 128)),
                  meant.nearest.empty() ? "find it with search_tools"
                                        : catalog::did_you_mean(catalog, order->name, order->server) +
                                              " See nearest, or find it with search_tools",
                  {}};
    if (!order->category.empty() || !order->server.empty()) unknown.what += " in that category or server";
    return failure_with(unknown, "nearest", describe_nearest(catalog, meant.nearest));
  }
  if (meant.tools.size() > 1) {
    Error several{Code::invalid,
                  0,
                  fmt::format("{} tools are named '{}'", meant.tools.size(), printable(order->name, 128)),
                  "name the server, too",
                  {}};
    meant.tools.resize(std::min(meant.tools.size(), kMaxCandidates));
    return failure_with(several, "candidates", name_all(catalog, meant.tools));
  }
  const catalog::ToolView tool = catalog.tool(meant.tools.front());
  Json answer = describe(catalog, meant.tools.front(), Detail::full);
  if (tool.kind == catalog::Kind::tool) answer["import"] = import_line(tool);
  return mcp::ToolResult::data(std::move(answer));
}

}  // namespace tools
