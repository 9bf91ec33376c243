// Catalog answers: tools of the catalogue as JSON, with the keys that all discovery tools share (seed-compatible). A
// tool that is known, but cannot be called, also has `callable`: false. Source: catalog::Catalog. Used by: the
// discovery tools, their calls of jailed code, the skill tools' definitions.
#pragma once
#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/protocol/mcp/registry.h"

namespace tools {

enum class Detail { brief, summary, full };

// A description in one line of at most `max` bytes; a cut line ends with "…".
std::string shortened(std::string_view description, size_t max = 300);
// What an entry of a list may take at the detail `summary`.
struct EntryShare {
  size_t description_bytes = 300;
  bool has_signature = true;
};
// brief: name, mcp_server, signature. summary: also category and description. full: all members of the definition.
Json describe(const catalog::Catalog& catalog, uint32_t tool, Detail detail, EntryShare share = {});
// [{name, mcp_server, category, description, signature}], with short descriptions: tools that the caller may have
// meant.
Json describe_nearest(const catalog::Catalog& catalog, const std::vector<uint32_t>& tools);
// [{name, mcp_server, category}]
Json name_all(const catalog::Catalog& catalog, const std::vector<uint32_t>& tools);

// Sets the hints for a tool that only reads, and only from the daemon's own data.
void mark_read_only(mcp::ToolDefinition& tool);

}  // namespace tools
