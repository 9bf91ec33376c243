// The tool get_execution_stats: what a tenant's executions were, and what they kept out of its clients' context.
#pragma once
#include <functional>

#include "supervisor/base/json_value.h"
#include "supervisor/executions/sessions.h"
#include "supervisor/journal/journal.h"
#include "supervisor/mcp/server.h"
#include "supervisor/tenants/named_workspaces.h"
#include "supervisor/tenants/tenant.h"
#include "supervisor/tools/catalog/catalog_tools.h"
#include "supervisor/tools/workspace/workspace_tools.h"

namespace tools {

mcp::ToolDefinition get_execution_stats_definition();

struct Stats {
  const tenants::Usage& workspace;
  const policies::Policy& policy;
  const catalog::Catalog& catalog;
  const journal::ExecutionStatistics& journal;  // of all time
  const journal::Totals& since_start;           // of the daemon
  uint64_t skills;                              // its own and those that everybody shares
  const executions::Sessions& sessions;
  const std::string& tenant;                               // or its named workspace
  const std::vector<tenants::NamedWorkspace>& workspaces;  // of the tenant
};
Json describe(const Stats& stats);

// The user data of connections are tenants::Members. Journal and sessions must outlive the server.
using SkillCount = std::function<Result<uint64_t>(tenants::Tenant&)>;
void add_get_execution_stats(mcp::Server& server, journal::Journal& journal, discovery::CatalogOf catalog_of,
                             SkillCount count_skills, const executions::Sessions& sessions, TenantOf tenant_of);

}  // namespace tools
