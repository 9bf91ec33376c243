// The tool get_execution_stats: counts and times of a tenant's executions, and the bytes that stayed out of its
// clients' context. Source: journal, workspace, catalogue, sessions and skills. Used by: supervisor/daemon/.
#pragma once
#include "supervisor/base/json/json_value.h"
#include "supervisor/executions/sessions.h"
#include "supervisor/records/journal/journal.h"
#include "supervisor/tenants/named_workspaces.h"
#include "supervisor/tools/catalog/catalog_tools.h"

namespace tools {

mcp::ToolDefinition get_execution_stats_definition();

struct Stats {
  const tenants::Usage& workspace;
  const policies::Policy& policy;
  const catalog::Catalog& catalog;
  const journal::ExecutionStatistics& journal;  // since the journal began
  const journal::Totals& since_start;           // since the daemon started
  uint64_t skills;                              // the tenant's own and the shared skills
  const executions::Sessions& sessions;
  const std::string& tenant;                               // the name of the tenant, or of its named workspace
  const std::vector<tenants::NamedWorkspace>& workspaces;  // of the tenant
};
Json describe(const Stats& stats);

// Journal and sessions must outlive all calls.
void add_get_execution_stats(const OperationRegistry& registry, journal::Journal& journal,
                             discovery::CatalogOf catalog_of, LibraryOf library_of,
                             const executions::Sessions& sessions);

}  // namespace tools
