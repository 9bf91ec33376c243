#include <fmt/format.h>

#include "supervisor/base/fields.h"
#include "supervisor/tools/catalog_answers.h"
#include "supervisor/tools/catalog_tools.h"
#include "supervisor/tools/workspace_answers.h"

using nlohmann::json;
using nlohmann::ordered_json;

namespace tools {
namespace {

constexpr size_t kMaxGroups = 300;  // of each kind in one answer

}  // namespace

mcp::ToolDefinition list_tool_categories_definition() {
  mcp::ToolDefinition tool;
  tool.name = "list_tool_categories";
  tool.description = "Categories and servers of tools, with counts.";
  tool.input_schema = ordered_json::parse(R"({"type": "object", "properties": {}})");
  tool.output_schema = ordered_json{{"type", "object"}};
  mark_read_only(tool);
  return tool;
}

mcp::ToolResult list_tool_categories(const catalog::Catalog& catalog, const json& arguments) {
  Fields in(arguments, "list_tool_categories");
  if (auto known = in.done(); !known) return failure(known.error());
  ordered_json categories = ordered_json::object(), servers = ordered_json::object(), core = ordered_json::array();
  for (size_t i = 0; i < catalog.categories().size() && i < kMaxGroups; i++) {
    const catalog::Group& group = catalog.categories()[i];
    ordered_json one = {{"description", group.description}, {"tool_count", group.tools}};
    categories[group.name] = std::move(one);
  }
  for (size_t i = 0; i < catalog.servers().size() && i < kMaxGroups; i++) {
    const catalog::Group& group = catalog.servers()[i];
    if (!group.name.empty()) servers[group.name] = group.tools;
  }
  for (const auto& server : catalog.core_servers()) core.push_back(server);
  ordered_json answer = {{"categories", std::move(categories)},
                         {"total_tools", catalog.size()},
                         {"core_mcps", std::move(core)},
                         {"servers", std::move(servers)}};
  if (size_t most = std::max(catalog.categories().size(), catalog.servers().size()); most > kMaxGroups)
    answer["hint"] = fmt::format("the first {} of {}; search_tools finds the tools of all", kMaxGroups, most);
  if (catalog.problem_count() > 0) answer["problems"] = catalog.problem_count();  // files and tools that were left out
  return mcp::ToolResult::data(std::move(answer));
}

}  // namespace tools
