// What the discovery tools share: a tool of the catalogue as JSON, in the seed-compatible keys.
#pragma once
#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "supervisor/base/json_value.h"
#include "supervisor/mcp/registry.h"

namespace tools {

enum class Detail { brief, summary, full };

// A description in one line of at most so many bytes.
std::string shortened(std::string_view description, size_t most = 300);
// brief: name, mcp_server, signature. summary: also category and description. full: everything that is known.
Json describe(const catalog::Catalog& catalog, uint32_t tool, Detail detail);
// [{name, mcp_server, category, description, signature}], with short descriptions: what was perhaps meant.
Json describe_nearest(const catalog::Catalog& catalog, const std::vector<uint32_t>& tools);
// [{name, mcp_server, category}]
Json name_all(const catalog::Catalog& catalog, const std::vector<uint32_t>& tools);

// Reads only, from what we hold ourselves.
void mark_read_only(mcp::ToolDefinition& tool);

}  // namespace tools
