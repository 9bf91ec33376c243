#include <fmt/format.h>

#include <algorithm>

#include "catalog/did_you_mean.h"
#include "supervisor/base/json/fields.h"
#include "supervisor/tools/catalog/catalog_answers.h"
#include "supervisor/tools/catalog/catalog_tools.h"

namespace tools {
namespace {

// Bytes of each part of the answer. So the answer has less than 800 tokens for any number of categories and servers.
constexpr size_t kCategoryBytes = 1200, kServerBytes = 700, kCoreBytes = 300;
constexpr size_t kMany = 20;              // categories; with more, descriptions are cut
constexpr size_t kShortDescription = 60;  // bytes of a cut description

// The groups with the most tools that fit into `bytes`, sorted by name. `cost`: bytes of one group.
std::vector<const catalog::Group*> largest(const std::vector<catalog::Group>& groups, size_t bytes, auto&& cost) {
  std::vector<const catalog::Group*> all;
  for (const catalog::Group& group : groups)
    if (!group.name.empty()) all.push_back(&group);
  std::stable_sort(all.begin(), all.end(), [](const auto* a, const auto* b) { return a->tools > b->tools; });
  size_t count = 0;
  for (; count < all.size(); count++) {
    const size_t value = cost(*all[count]);
    if (value > bytes) break;
    bytes -= value;
  }
  all.resize(count);
  std::sort(all.begin(), all.end(), [](const auto* a, const auto* b) { return a->name < b->name; });
  return all;
}

}  // namespace

mcp::ToolDefinition list_tool_categories_definition() {
  mcp::ToolDefinition tool;
  tool.name = "list_tool_categories";
  tool.description = "Categories and servers of tools.";
  tool.input_schema = Json::parse(R"({"type": "object", "properties": {}})");
  mark_read_only(tool);
  return tool;
}

Result<Json> list_tool_categories(const catalog::Catalog& catalog, const Json& arguments) {
  Fields in(arguments, "list_tool_categories");
  CHECKED(in.done());
  Json categories = Json::object(), servers = Json::object(), core = Json::array();
  const bool many = catalog.categories().size() > kMany;
  auto description = [&](const catalog::Group& group) {
    return many ? shortened(group.description, kShortDescription) : shortened(group.description);
  };
  const auto shown_categories = largest(catalog.categories(), kCategoryBytes, [&](const catalog::Group& group) {
    return group.name.size() + description(group).size() + 40;
  });
  const auto shown_servers =
      largest(catalog.servers(), kServerBytes, [](const catalog::Group& group) { return group.name.size() + 8; });
  for (const auto* group : shown_categories)
    categories[group->name] = Json{{"description", description(*group)}, {"tool_count", group->tools}};
  for (const auto* group : shown_servers) servers[group->name] = group->tools;
  size_t core_bytes = kCoreBytes;
  for (const auto& server : catalog.core_servers())
    if (server.size() + 4 <= core_bytes) {
      core.push_back(server);
      core_bytes -= server.size() + 4;
    }
  Json answer = {{"categories", std::move(categories)},
                 {"total_tools", catalog.size()},
                 {"core_mcps", std::move(core)},
                 {"servers", std::move(servers)}};
  if (catalog.callable() < catalog.size()) answer["callable_tools"] = catalog.callable();
  if (catalog.size() == 0) answer["hint"] = catalog::reason_for_no_tools(catalog);
  const size_t all_servers = static_cast<size_t>(std::count_if(catalog.servers().begin(), catalog.servers().end(),
                                                               [](const auto& item) { return !item.name.empty(); }));
  if (shown_categories.size() < catalog.categories().size() || shown_servers.size() < all_servers)
    answer["hint"] = fmt::format(
        "the largest {} of {} categories and {} of {} servers; search_tools finds the tools of all, list_tools() in "
        "execute_code names them",
        shown_categories.size(), catalog.categories().size(), shown_servers.size(), all_servers);
  if (catalog.problem_count() > 0)
    answer["problems"] = catalog.problem_count();  // number of files and tools that were left out
  return answer;
}

}  // namespace tools
