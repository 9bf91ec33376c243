#include <algorithm>

#include "supervisor/base/fields.h"
#include "supervisor/base/json.h"
#include "supervisor/tools/workspace/workspace_paths.h"
#include "supervisor/tools/workspace/workspace_tools.h"

namespace tools {
namespace {

constexpr int64_t kMaxFilesListed = 10'000;

enum class Details { names, all };

struct ListingOrder {
  std::string subpath;
  RelativePath path;
  tenants::ListOptions options;
  Details details = Details::names;
};

Result<ListingOrder> read_listing_order(tenants::Tenant& tenant, const Json& arguments) {
  Fields in(arguments, "list_workspace_files");
  ListingOrder order;
  TRY(order.subpath, in.string_or("subpath", "."));
  TRY(int64_t depth, in.integer_or("depth", 1, INT64_MAX, kMaxPathComponents));
  TRY(int64_t limit, in.integer_or("limit", 1, INT64_MAX, 1000));
  TRY(bool details, in.boolean_or("details", false));
  CHECKED(in.done());
  TRY(order.path, workspace_path(tenant, order.subpath));
  order.subpath = order.path.text();
  order.options.depth = static_cast<unsigned>(std::min<int64_t>(depth, kMaxPathComponents));
  order.options.limit = static_cast<size_t>(std::min(limit, kMaxFilesListed));  // `more` is true if files are left out
  if (details) order.details = Details::all;
  return order;
}

}  // namespace

mcp::ToolDefinition list_workspace_files_definition() {
  mcp::ToolDefinition tool;
  tool.name = "list_workspace_files";
  tool.description = "List the files below /workspace.";
  tool.input_schema = Json::parse(R"({
    "type": "object",
    "properties": {
      "subpath": {"type": "string", "default": "."},
      "depth": {"type": "integer"},
      "limit": {"type": "integer"},
      "details": {"type": "boolean"}
    }
  })");
  tool.annotations.read_only = true;
  tool.annotations.destructive = false;
  tool.annotations.idempotent = true;
  tool.annotations.open_world = false;
  return tool;
}

Task<Result<Json>> list_workspace_files(tenants::Tenant& tenant, Json arguments) {
  CO_TRY(const ListingOrder order, read_listing_order(tenant, arguments));
  auto listing = co_await tenant.workspace().list(order.path, order.options);
  const bool is_missing = !listing && listing.error().code == Code::not_found;
  if (!listing && !is_missing) co_return tl::unexpected<Error>(std::move(listing).error());
  Json answer = {{"success", true}, {"path", order.subpath}};
  if (is_missing) {  // an empty list, as clients expect from the tool's contract
    listing = tenants::Listing();
    answer["note"] = "there is no folder '" + order.subpath + "'";
  }
  Json& files = answer["files"] = Json::array();
  for (const tenants::Entry& entry : listing->entries) files.push_back(valid_utf8(entry.path));
  if (order.details == Details::all) {
    Json entries = Json::array();
    for (const tenants::Entry& entry : listing->entries) {
      Json one = {{"path", valid_utf8(entry.path)},
                  {"size", entry.size},
                  {"modified", iso_time(entry.mtime_ns)},
                  {"kind", std::string(tenants::kind_name(entry.kind))}};
      entries.push_back(std::move(one));
    }
    answer["entries"] = std::move(entries);
  }
  answer["count"] = listing->entries.size();
  answer["more"] = listing->more;
  co_return answer;
}

}  // namespace tools
