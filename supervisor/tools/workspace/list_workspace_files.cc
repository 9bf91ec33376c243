#include <algorithm>

#include "supervisor/base/json/fields.h"
#include "supervisor/base/json/json.h"
#include "supervisor/tenants/index/walk.h"
#include "supervisor/tenants/tenant.h"
#include "supervisor/tenants/workspace.h"
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
  bool is_cut = false;  // by `depth`: folders are listed, too
};

// Folders whose contents the list does not have.
struct SplitListing {
  std::vector<tenants::Entry> files;
  std::vector<std::string> folders;
};

size_t components(std::string_view path) {
  return path.empty() ? 0 : 1 + static_cast<size_t>(std::count(path.begin(), path.end(), '/'));
}

SplitListing split(const ListingOrder& order, std::vector<tenants::Entry> entries) {
  SplitListing split;
  const std::string top = order.subpath == "." ? std::string() : order.subpath;
  for (tenants::Entry& entry : entries) {
    if (entry.kind != tenants::FileKind::directory) {
      split.files.push_back(std::move(entry));
    } else if (components(entry.path) == components(top) + order.options.depth || !order.is_cut) {
      split.folders.push_back(valid_utf8(entry.path));
    }
  }
  return split;
}

// A workspace of empty folders does not look empty.
Task<std::vector<std::string>> empty_folders(tenants::Tenant& tenant, const ListingOrder& order) {
  constexpr size_t kMaxFoldersShown = 100;
  tenants::ListOptions options = order.options;
  options.folders = tenants::ListOptions::Folders::listed;
  options.limit = std::min(options.limit, kMaxFoldersShown);
  auto listing = co_await tenant.workspace().list(order.path, options);
  if (!listing) co_return std::vector<std::string>();
  co_return split(order, std::move(listing->entries)).folders;
}

Result<ListingOrder> read_listing_order(tenants::Tenant& tenant, const Json& arguments) {
  Fields in(arguments, "list_workspace_files");
  ListingOrder order;
  TRY(order.subpath, in.string_or("subpath", "."));
  TRY(int64_t in_depth, in.integer_or("depth", 1, INT64_MAX, kMaxPathComponents));
  TRY(int64_t limit, in.integer_or("limit", 1, INT64_MAX, 1000));
  TRY(bool details, in.boolean_or("details", false));
  CHECKED(in.done());
  TRY(order.path, workspace_path(tenant, order.subpath));
  order.subpath = order.path.text();
  order.is_cut = in_depth < static_cast<int64_t>(kMaxPathComponents);
  order.options.depth = static_cast<unsigned>(std::min<int64_t>(in_depth, kMaxPathComponents));
  if (order.is_cut) order.options.folders = tenants::ListOptions::Folders::listed;
  order.options.limit = static_cast<size_t>(std::min(limit, kMaxFilesListed));  // `more` is true if files are left out
  if (details) order.details = Details::all;
  return order;
}

}  // namespace

mcp::ToolDefinition list_workspace_files_definition() {
  mcp::ToolDefinition tool;
  tool.name = "list_workspace_files";
  tool.description = "List files below /workspace.";
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
  SplitListing listed = split(order, std::move(listing->entries));
  if (listed.files.empty() && !is_missing && !order.is_cut) listed.folders = co_await empty_folders(tenant, order);
  Json& files = answer["files"] = Json::array();
  for (const tenants::Entry& entry : listed.files) files.push_back(valid_utf8(entry.path));
  if (order.details == Details::all) {
    Json entries = Json::array();
    for (const tenants::Entry& entry : listed.files) {
      Json item = {{"path", valid_utf8(entry.path)},
                   {"size", entry.size},
                   {"modified", iso_time(entry.mtime_ns)},
                   {"kind", std::string(tenants::kind_name(entry.kind))}};
      entries.push_back(std::move(item));
    }
    answer["entries"] = std::move(entries);
  }
  if (!listed.folders.empty()) {
    answer["folders"] = std::move(listed.folders);
    if (order.is_cut) answer["note"] = "what is in `folders` is below this depth and is not listed";
  }
  answer["count"] = listed.files.size();
  answer["more"] = listing->more;
  co_return answer;
}

}  // namespace tools
