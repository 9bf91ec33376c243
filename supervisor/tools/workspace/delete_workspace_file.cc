#include "supervisor/base/json/fields.h"
#include "supervisor/base/json/json.h"
#include "supervisor/tenants/tenant.h"
#include "supervisor/tenants/workspace.h"
#include "supervisor/tools/workspace/workspace_paths.h"
#include "supervisor/tools/workspace/workspace_tools.h"

namespace tools {
namespace {

struct DeleteOrder {
  std::string filename;
  RelativePath path;
  tenants::Removal what = tenants::Removal::one;
};

Result<DeleteOrder> read_delete_order(tenants::Tenant& tenant, const Json& arguments) {
  Fields in(arguments, "delete_workspace_file");
  DeleteOrder order;
  TRY(order.filename, in.string("filename"));
  TRY(bool recursive, in.boolean_or("recursive", false));
  CHECKED(in.done());
  TRY(order.path, workspace_path(tenant, order.filename, BareWorkspace::name));
  order.filename = order.path.text();
  if (recursive) order.what = tenants::Removal::recursive;
  return order;
}

}  // namespace

mcp::ToolDefinition delete_workspace_file_definition() {
  mcp::ToolDefinition tool;
  tool.name = "delete_workspace_file";
  tool.description = "Delete a file or empty folder.";
  tool.input_schema = Json::parse(R"({
    "type": "object",
    "properties": {
      "filename": {"type": "string"},
      "recursive": {"type": "boolean"}
    },
    "required": ["filename"]
  })");
  return tool;
}

Task<Result<Json>> delete_workspace_file(tenants::Tenant& tenant, Json arguments) {
  CO_TRY(const DeleteOrder order, read_delete_order(tenant, arguments));
  CO_CHECKED(co_await tenant.workspace().remove(order.path, order.what));
  Json answer = {{"success", true}, {"message", "Deleted " + order.filename}};
  co_return answer;
}

}  // namespace tools
