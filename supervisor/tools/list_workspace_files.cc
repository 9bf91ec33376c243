#include "supervisor/base/fields.h"
#include "supervisor/base/json.h"
#include "supervisor/tools/workspace_answers.h"
#include "supervisor/tools/workspace_tools.h"

using nlohmann::json;
using nlohmann::ordered_json;

namespace tools {
namespace {

constexpr int64_t kMaxListed = 10'000;

enum class Details { names, all };

struct Order {
  std::string subpath;
  RelativePath path;
  tenants::ListOptions options;
  Details details = Details::names;
};

Result<Order> read_order(const json& arguments) {
  Fields in(arguments, "list_workspace_files");
  Order order;
  TRY(order.subpath, in.string_or("subpath", "."));
  TRY(int64_t depth, in.integer_or("depth", 1, kMaxPathComponents, kMaxPathComponents));
  TRY(int64_t limit, in.integer_or("limit", 1, kMaxListed, 1000));
  TRY(bool details, in.boolean_or("details", false));
  CHECKED(in.done());
  TRY(order.path, RelativePath::parse(order.subpath));
  order.options.depth = static_cast<unsigned>(depth);
  order.options.limit = static_cast<size_t>(limit);
  if (details) order.details = Details::all;
  return order;
}

}  // namespace

mcp::ToolDefinition list_workspace_files_definition() {
  mcp::ToolDefinition tool;
  tool.name = "list_workspace_files";
  tool.description = "List the files below /workspace.";
  tool.input_schema = ordered_json::parse(R"({
    "type": "object",
    "properties": {
      "subpath": {"type": "string", "default": "."},
      "depth": {"type": "integer", "maximum": 128},
      "limit": {"type": "integer", "maximum": 10000, "default": 1000},
      "details": {"type": "boolean", "default": false}
    }
  })");
  tool.output_schema = ordered_json{{"type", "object"}};
  tool.annotations.read_only = true;
  tool.annotations.destructive = false;
  tool.annotations.idempotent = true;
  tool.annotations.open_world = false;
  return tool;
}

Task<mcp::ToolResult> list_workspace_files(tenants::Tenant& tenant, json arguments) {
  auto order = read_order(arguments);
  if (!order) co_return failure(order.error());
  auto listing = co_await tenant.workspace().list(order->path, order->options);
  if (!listing) co_return failure(listing.error());
  ordered_json answer = {{"success", true}, {"path", order->subpath}};
  ordered_json& files = answer["files"] = ordered_json::array();
  for (const tenants::Entry& entry : listing->entries) files.push_back(valid_utf8(entry.path));
  if (order->details == Details::all) {
    ordered_json entries = ordered_json::array();
    for (const tenants::Entry& entry : listing->entries) {
      ordered_json one = {{"path", valid_utf8(entry.path)},
                          {"size", entry.size},
                          {"modified", iso_time(entry.mtime_ns)},
                          {"kind", std::string(tenants::kind_name(entry.kind))}};
      entries.push_back(std::move(one));
    }
    answer["entries"] = std::move(entries);
  }
  answer["count"] = listing->entries.size();
  answer["more"] = listing->more;
  co_return mcp::ToolResult::data(std::move(answer));
}

}  // namespace tools
