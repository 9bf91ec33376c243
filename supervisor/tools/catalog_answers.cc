#include "supervisor/tools/catalog_answers.h"

#include "catalog/signature.h"
#include "catalog/stubs.h"
#include "catalog/visible.h"
#include "supervisor/base/json.h"

using nlohmann::json;
using nlohmann::ordered_json;

namespace tools {
namespace {

constexpr size_t kSummaryBytes = 300;  // of a description

ordered_json server_of(const catalog::ToolView& tool) {
  return tool.server.empty() ? ordered_json(nullptr) : ordered_json(std::string(tool.server));
}

std::string shortened(std::string_view description) {
  std::string text = catalog::visible(description, catalog::Lines::joined);
  if (text.size() <= kSummaryBytes) return text;
  text.resize(whole_utf8_prefix(std::string_view(text).substr(0, kSummaryBytes)));
  return text + "\xE2\x80\xA6";
}

}  // namespace

ordered_json describe(const catalog::Catalog& catalog, uint32_t number, Detail detail) {
  const catalog::ToolView tool = catalog.tool(number);
  const json rest = json::parse(catalog.rest(number));
  ordered_json all = {{"name", std::string(tool.name)}};
  if (detail != Detail::brief) {
    all["category"] = std::string(tool.category);
    all["description"] = detail == Detail::full ? std::string(tool.description) : shortened(tool.description);
  }
  all["mcp_server"] = server_of(tool);
  if (detail == Detail::full) {
    for (const char* key : {"functions", "use_cases"})
      all[key] = rest.contains(key) ? ordered_json(rest[key]) : ordered_json::array();
    for (const auto& [key, value] : rest.items())
      if (!all.contains(key)) all[key] = value;
    if (const auto tags = catalog.tags(number); !tags.empty())
      for (std::string_view tag : tags) all["tags"].push_back(std::string(tag));
  }
  if (tool.kind == catalog::Kind::skill) all["kind"] = "skill";
  all["signature"] = catalog::signature(tool.name, rest);
  return all;
}

ordered_json name_all(const catalog::Catalog& catalog, const std::vector<uint32_t>& tools) {
  ordered_json all = ordered_json::array();
  for (uint32_t number : tools) {
    const catalog::ToolView tool = catalog.tool(number);
    ordered_json one = {
        {"name", std::string(tool.name)}, {"mcp_server", server_of(tool)}, {"category", std::string(tool.category)}};
    all.push_back(std::move(one));
  }
  return all;
}

void mark_read_only(mcp::ToolDefinition& tool) {
  tool.annotations.read_only = true;
  tool.annotations.destructive = false;
  tool.annotations.idempotent = true;
  tool.annotations.open_world = false;
}

}  // namespace tools
