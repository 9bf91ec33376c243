#include <fmt/format.h>

#include "supervisor/base/base64.h"
#include "supervisor/base/fields.h"
#include "supervisor/base/json.h"
#include "supervisor/tools/workspace/workspace_paths.h"
#include "supervisor/tools/workspace/workspace_tools.h"

namespace tools {
namespace {

constexpr size_t kMaxContentBytes = 64 << 20;  // bytes; the connection bounds requests earlier

struct Order {
  std::string filename;
  RelativePath path;
  std::string bytes;
  tenants::WriteMode mode = tenants::WriteMode::replace;
};

// Moves the content out of `arguments`, because it may be large.
Result<Order> read_order(tenants::Tenant& tenant, Json& arguments) {
  Fields in(arguments, "write_workspace_file");
  Order order;
  TRY(order.filename, in.string("filename"));
  const Json* content = in.find("content");
  if (!content || !content->is_string() || content->get_ref<const std::string&>().size() > kMaxContentBytes)
    return tl::unexpected<Error>(in.string("content", kMaxContentBytes).error());
  TRY(std::string encoding, in.one_of("encoding", {"utf-8", "base64"}, "utf-8"));
  TRY(std::string mode, in.one_of("mode", {"replace", "append", "create"}, "replace"));
  CHECKED(in.done());
  TRY(order.path, workspace_path(tenant, order.filename));
  order.filename = order.path.text();
  order.bytes = std::move(arguments["content"].get_ref<std::string&>());
  if (encoding == "base64") {
    TRY(order.bytes, from_base64(order.bytes));
  }
  if (mode == "append") order.mode = tenants::WriteMode::append;
  if (mode == "create") order.mode = tenants::WriteMode::create;
  return order;
}

}  // namespace

mcp::ToolDefinition write_workspace_file_definition() {
  mcp::ToolDefinition tool;
  tool.name = "write_workspace_file";
  tool.description = "Write a file in /workspace.";
  tool.input_schema = Json::parse(R"({
    "type": "object",
    "properties": {
      "filename": {"type": "string"},
      "content": {"type": "string"},
      "encoding": {"type": "string", "enum": ["utf-8", "base64"]},
      "mode": {"type": "string", "enum": ["replace", "append", "create"]}
    },
    "required": ["filename", "content"]
  })");
  tool.annotations.open_world = false;
  return tool;
}

Task<Result<Json>> write_workspace_file(tenants::Tenant& tenant, Json arguments) {
  CO_TRY(Order order, read_order(tenant, arguments));
  const size_t count = order.bytes.size();
  CO_TRY(const uint64_t size, co_await tenant.workspace().write(order.path, std::move(order.bytes), order.mode));
  Json answer = {{"success", true},
                 {"message", fmt::format("Written {} bytes to {}", count, order.filename)},
                 {"filename", order.filename},
                 {"size", size}};
  co_return answer;
}

}  // namespace tools
