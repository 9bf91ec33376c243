#include "supervisor/base/fields.h"
#include "supervisor/base/json.h"
#include "supervisor/tools/workspace_answers.h"
#include "supervisor/tools/workspace_tools.h"

using nlohmann::json;
using nlohmann::ordered_json;

namespace tools {
namespace {

struct Order {
  std::string filename;
  RelativePath path;
  tenants::Removal what = tenants::Removal::one;
};

Result<Order> read_order(const json& arguments) {
  Fields in(arguments, "delete_workspace_file");
  Order order;
  TRY(order.filename, in.string("filename"));
  TRY(bool recursive, in.boolean_or("recursive", false));
  CHECKED(in.done());
  TRY(order.path, RelativePath::parse(order.filename));
  if (recursive) order.what = tenants::Removal::recursive;
  return order;
}

}  // namespace

mcp::ToolDefinition delete_workspace_file_definition() {
  mcp::ToolDefinition tool;
  tool.name = "delete_workspace_file";
  tool.description = "Delete a file or an empty folder of /workspace.";
  tool.input_schema = ordered_json::parse(R"({
    "type": "object",
    "properties": {
      "filename": {"type": "string"},
      "recursive": {"type": "boolean", "default": false}
    },
    "required": ["filename"]
  })");
  tool.output_schema = ordered_json{{"type", "object"}};
  tool.annotations.idempotent = true;
  tool.annotations.open_world = false;
  return tool;
}

Task<mcp::ToolResult> delete_workspace_file(tenants::Tenant& tenant, json arguments) {
  auto order = read_order(arguments);
  if (!order) co_return failure(order.error());
  auto removed = co_await tenant.workspace().remove(order->path, order->what);
  if (!removed) co_return failure(removed.error());
  ordered_json answer = {{"success", true}, {"message", "Deleted " + order->filename}};
  co_return mcp::ToolResult::data(std::move(answer));
}

}  // namespace tools
