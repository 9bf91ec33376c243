// What the discovery tools share: a tool of the catalogue as JSON, in the seed-compatible keys.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "supervisor/mcp/registry.h"

namespace tools {

enum class Detail { brief, summary, full };

// brief: name, mcp_server, signature. summary: also category and description. full: everything that is known.
nlohmann::ordered_json describe(const catalog::Catalog& catalog, uint32_t tool, Detail detail);
// [{name, mcp_server, category}]
nlohmann::ordered_json name_all(const catalog::Catalog& catalog, const std::vector<uint32_t>& tools);

// Reads only, from what we hold ourselves.
void mark_read_only(mcp::ToolDefinition& tool);

}  // namespace tools
