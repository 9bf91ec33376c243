#include <fmt/format.h>
#include <fmt/ranges.h>

#include "supervisor/base/fields.h"
#include "supervisor/tools/catalog_answers.h"
#include "supervisor/tools/catalog_tools.h"
#include "supervisor/tools/workspace_answers.h"

using nlohmann::json;
using nlohmann::ordered_json;

namespace tools {
namespace {

constexpr int64_t kMaxListed = 50;
constexpr size_t kMaxQueryBytes = 2000;
constexpr size_t kMaxTags = 16;

struct Order {
  catalog::Query query;
  Detail detail = Detail::summary;
  std::string detail_level;
};

Result<Order> read_order(const json& arguments) {
  Fields in(arguments, "search_tools");
  Order order;
  TRY(order.query.text, in.string("query", kMaxQueryBytes));
  TRY(order.query.category, in.string_or("category", ""));
  TRY(order.query.server, in.string_or("server", ""));
  TRY(order.query.tags, in.strings_or("tags", {}));
  TRY(order.detail_level, in.one_of("detail_level", {"brief", "summary", "full"}, "summary"));
  TRY(int64_t limit, in.integer_or("limit", 1, kMaxListed, 5));
  CHECKED(in.done());
  if (order.query.tags.size() > kMaxTags)
    return fail(Code::invalid, fmt::format("search_tools.tags: more than {} tags", kMaxTags));
  order.query.limit = static_cast<size_t>(limit);
  if (order.detail_level == "brief") order.detail = Detail::brief;
  if (order.detail_level == "full") order.detail = Detail::full;
  return order;
}

bool has_group(const std::vector<catalog::Group>& groups, const std::string& name) {
  for (const auto& group : groups)
    if (group.name == name) return true;
  return false;
}

bool is_ascii(std::string_view text) {
  for (char c : text)
    if (static_cast<unsigned char>(c) >= 0x80) return false;
  return true;
}

// What the reader can do about an answer with nothing in it, or with more than is shown.
std::string advice(const catalog::Catalog& catalog, const catalog::Query& query, const catalog::Found& found) {
  if (found.total > found.tools.size())
    return fmt::format("{} of {}; ask for more with limit, or more exactly", found.tools.size(), found.total);
  if (found.total > 0) return {};
  if (catalog.size() == 0) return "there are no tool definitions here";
  std::string text;
  if (!query.category.empty() && !has_group(catalog.categories(), query.category))
    text = "no such category; list_tool_categories tells them";
  else if (!query.server.empty() && !has_group(catalog.servers(), query.server))
    text = "no such server; list_tool_categories tells them";
  else if (found.elsewhere > 0)
    text = fmt::format("{} fit without category, server and tags", found.elsewhere);
  else if (!found.unknown_words.empty())
    text = fmt::format("no tool has: {}", fmt::join(found.unknown_words, ", "));
  else
    text = "no tool has enough of these words";
  if (!is_ascii(query.text)) text += "; definitions are written in English";
  if (!found.nearest.empty()) text += "; see nearest";
  return text;
}

}  // namespace

mcp::ToolDefinition search_tools_definition() {
  mcp::ToolDefinition tool;
  tool.name = "search_tools";
  tool.description = "Find other servers' tools by what they do.";
  tool.input_schema = ordered_json::parse(R"({
    "type": "object",
    "properties": {
      "query": {"type": "string"},
      "category": {"type": "string"},
      "detail_level": {"type": "string", "enum": ["brief", "summary", "full"], "default": "summary"},
      "server": {"type": "string"},
      "tags": {"type": "array", "items": {"type": "string"}},
      "limit": {"type": "integer", "maximum": 50, "default": 5}
    },
    "required": ["query"]
  })");
  tool.output_schema = ordered_json{{"type", "object"}};
  mark_read_only(tool);
  return tool;
}

mcp::ToolResult search_tools(const catalog::Catalog& catalog, const json& arguments) {
  return search_tools(catalog, arguments, nullptr);
}

mcp::ToolResult search_tools(const catalog::Catalog& catalog, const json& arguments, const catalog::Learning* learned) {
  auto order = read_order(arguments);
  if (!order) return failure(order.error());
  catalog::Query& query = order->query;
  query.learned = learned;
  const catalog::Found found = catalog.search(query);
  ordered_json answer = {{"query", query.text},
                         {"category", query.category.empty() ? ordered_json(nullptr) : ordered_json(query.category)},
                         {"detail_level", order->detail_level},
                         {"count", found.tools.size()},
                         {"total", found.total},
                         {"tools", ordered_json::array()}};
  for (uint32_t number : found.tools) answer["tools"].push_back(describe(catalog, number, order->detail));
  if (std::string hint = advice(catalog, query, found); !hint.empty()) answer["hint"] = std::move(hint);
  if (!found.nearest.empty()) answer["nearest"] = name_all(catalog, found.nearest);
  return mcp::ToolResult::data(std::move(answer));
}

}  // namespace tools
