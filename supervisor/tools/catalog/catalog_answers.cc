#include "supervisor/tools/catalog/catalog_answers.h"

#include <fmt/format.h>

#include <algorithm>

#include "catalog/stubs.h"
#include "catalog/visible.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_text.h"

namespace tools {
namespace {

constexpr size_t kNearestBytes = 120;  // of the description of a tool that the caller may have meant

Json server_of(const catalog::ToolView& tool) {
  return tool.server.empty() ? Json(nullptr) : Json(std::string(tool.server));
}

void mark_uncallable(const catalog::ToolView& tool, Json& answer) {
  if (!tool.callable) answer["callable"] = false;
}

}  // namespace

std::string shortened(std::string_view description, size_t max) {
  std::string text = catalog::visible(description, catalog::Lines::joined);
  if (text.size() <= max) return text;
  text.resize(whole_utf8_prefix(std::string_view(text).substr(0, max)));
  return text + "\xE2\x80\xA6";
}

Json describe(const catalog::Catalog& catalog, uint32_t number, Detail detail, EntryShare share) {
  const catalog::ToolView tool = catalog.tool(number);
  Json all = {{"name", std::string(tool.name)}};
  if (detail != Detail::brief) {
    all["category"] = std::string(tool.category);
    all["description"] =
        detail == Detail::full ? std::string(tool.description) : shortened(tool.description, share.description_bytes);
  }
  all["mcp_server"] = server_of(tool);
  if (detail == Detail::full) {
    const Json rest = parse_own_json(catalog.rest(number)).value_or(Json::object());
    for (const char* key : {"functions", "use_cases"}) all[key] = rest.contains(key) ? Json(rest[key]) : Json::array();
    for (const auto& [key, value] : rest.items())
      if (!all.contains(key)) all[key] = value;
    if (const auto tags = catalog.tags(number); !tags.empty())
      for (std::string_view tag : tags) all["tags"].push_back(std::string(tag));
  }
  if (tool.kind == catalog::ToolKind::skill) all["kind"] = "skill";
  if (detail != Detail::summary || share.has_signature) all["signature"] = catalog.signature(number);
  mark_uncallable(tool, all);
  return all;
}

Json describe_nearest(const catalog::Catalog& catalog, const std::vector<uint32_t>& tools) {
  Json all = name_all(catalog, tools);
  for (size_t i = 0; i < tools.size(); i++) {
    const catalog::ToolView tool = catalog.tool(tools[i]);
    if (!tool.description.empty()) all[i]["description"] = shortened(tool.description, kNearestBytes);
    all[i]["signature"] = catalog.signature(tools[i]);
  }
  return all;
}

Json name_all(const catalog::Catalog& catalog, const std::vector<uint32_t>& tools) {
  Json all = Json::array();
  for (uint32_t number : tools) {
    const catalog::ToolView tool = catalog.tool(number);
    Json item = {
        {"name", std::string(tool.name)}, {"mcp_server", server_of(tool)}, {"category", std::string(tool.category)}};
    mark_uncallable(tool, item);
    all.push_back(std::move(item));
  }
  return all;
}

void mark_read_only(mcp::ToolDefinition& tool) {
  tool.annotations.read_only = true;
  tool.annotations.destructive = false;
  tool.annotations.idempotent = true;
}

}  // namespace tools
