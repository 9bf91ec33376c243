// The tool get_execution_stats: what a tenant's executions were, and what they kept out of its clients' context.
#pragma once
#include <functional>
#include <nlohmann/json.hpp>

#include "supervisor/journal/journal.h"
#include "supervisor/mcp/server.h"
#include "supervisor/tenants/tenant.h"
#include "supervisor/tools/catalog_tools.h"

namespace tools {

mcp::ToolDefinition get_execution_stats_definition();

struct Stats {
  const tenants::Usage& workspace;
  const policies::Policy& policy;
  const catalog::Catalog& catalog;
  const journal::Statistics& journal;  // of all time
  const journal::Totals& since_start;  // of the daemon
  uint64_t skills;                     // its own and those that everybody shares
};
nlohmann::ordered_json describe(const Stats& stats);

// The user data of connections are tenants::Members. The journal must outlive the server.
using SkillCount = std::function<Result<uint64_t>(tenants::Tenant&)>;
void add_get_execution_stats(mcp::Server& server, journal::Journal& journal, CatalogOf catalog_of,
                             SkillCount count_skills);

}  // namespace tools
