#include "supervisor/tools/execution/get_execution_stats.h"

#include "policies/policy.h"
#include "supervisor/base/json/json.h"
#include "supervisor/tenants/tenant.h"
#include "supervisor/tools/catalog/catalog_answers.h"
#include "supervisor/tools/execution/execution_account.h"

namespace tools {
namespace {

constexpr size_t kMaxCategories = 300;
constexpr size_t kMaxWorkspaces = 100;

Json quantiles_ms(const Quantiles& times) {
  auto ms = [](int64_t us) { return static_cast<double>(us) / 1000; };
  return {{"of", times.count},
          {"p50", ms(times.p50_us)},
          {"p90", ms(times.p90_us)},
          {"p99", ms(times.p99_us)},
          {"max", ms(times.max_us)}};
}

Json ledger(const journal::Totals& totals) {
  return {{"returned", bytes_and_tokens(totals.ledger.returned_bytes, totals.ledger.returned_tokens)},
          {"read_in_jail",
           bytes_and_tokens(totals.ledger.read_bytes,
                            totals.ledger.read_tokens)},  // the guests' own number, at most the bytes that were there
          {"kept_out", bytes_and_tokens(totals.withheld_bytes, totals.withheld_tokens)},
          {"definitions_avoided",
           bytes_and_tokens(totals.ledger.definitions_avoided_bytes, totals.ledger.definitions_avoided_tokens)}};
}

Json counts(const journal::Totals& totals) {
  return {{"total", totals.executions},
          {"outcomes", totals.outcomes},
          {"languages", totals.languages},
          {"cpu_ms", totals.cpu_us / 1000}};
}

// The named workspaces of the requester's tenant; empty for a requester that works in a named workspace.
Result<std::vector<tenants::NamedWorkspace>> named_workspaces(const tenants::Requester& requester) {
  if (requester.tenant->is_workspace()) return std::vector<tenants::NamedWorkspace>();
  TRY(auto named, tenants::NamedWorkspaces::of(requester.tenant->directory()));
  return named.list(requester.policy->named_workspaces);
}

struct Sources {
  journal::Journal& journal;
  discovery::CatalogOf catalog_of;
  LibraryOf library_of;
  const executions::Sessions& sessions;
};

Task<Result<Json>> get_execution_stats(const Sources& sources, const tenants::Requester& requester) {
  tenants::Tenant& tenant = *requester.tenant;
  const auto catalog = sources.catalog_of();
  CO_TRY(const tenants::Usage usage, co_await tenant.workspace().measure());
  CO_TRY(const journal::ExecutionStatistics statistics, co_await sources.journal.statistics(tenant.name()));
  CO_TRY(const skills::Library library, co_await sources.library_of(requester.tenant));
  CO_TRY(const auto workspaces, named_workspaces(requester));
  const Stats stats{usage,
                    *requester.policy,
                    *catalog,
                    statistics,
                    sources.journal.since_start(tenant.name()),
                    library.all().size(),
                    sources.sessions,
                    tenant.name(),
                    workspaces};
  co_return describe(stats);
}

}  // namespace

mcp::ToolDefinition get_execution_stats_definition() {
  mcp::ToolDefinition tool;
  tool.name = "get_execution_stats";
  tool.description = "Your executions, counted.";
  tool.input_schema = Json::parse(R"({"type": "object", "properties": {}})");
  mark_read_only(tool);
  return tool;
}

Json describe(const Stats& stats) {
  Json categories = Json::array();
  for (size_t i = 0; i < stats.catalog.categories().size() && i < kMaxCategories; i++)
    categories.push_back(stats.catalog.categories()[i].name);
  const policies::Limits& standard = stats.policy.limits.standard;
  const double timeout_seconds = static_cast<double>(standard.wall.count()) / 1000;

  Json all;
  all["workspace"] = {{"path", "/workspace"}, {"file_count", stats.workspace.files}, {"bytes", stats.workspace.bytes}};
  if (!stats.workspace.problem.empty()) all["workspace"]["problem"] = valid_utf8(stats.workspace.problem);
  all["skills"] = {{"count", stats.skills}, {"path", "/skills"}};
  all["tool_registry"] = {{"categories", std::move(categories)}, {"total_tools", stats.catalog.size()}};
  all["capabilities"] = {"sandboxed_execution", "progressive_tool_discovery", "pii_tokenization"};
  if (stats.policy.skills.save) all["capabilities"].push_back("skills_persistence");
  all["capabilities"].push_back("workspace_files");
  all["limits"] = {{"default_timeout_seconds", timeout_seconds}, {"default_memory_mb", standard.memory_bytes >> 20}};
  all["executions"] = counts(stats.journal.totals);
  all["executions"]["running"] = stats.journal.running;
  all["executions"]["since_start"] = counts(stats.since_start);
  all["sessions"] = stats.sessions.list(stats.tenant);
  for (size_t i = 0; i < stats.workspaces.size() && i < kMaxWorkspaces; i++) {
    const tenants::NamedWorkspace& workspace = stats.workspaces[i];
    Json item = {{"name", workspace.name}, {"idle_seconds", workspace.idle.count()}};
    if (workspace.removal) item["removed_in_seconds"] = workspace.removal->count();
    all["named_workspaces"].push_back(std::move(item));
  }
  all["times_ms"] = {{"program", quantiles_ms(stats.journal.wall_times)},
                     {"answer", quantiles_ms(stats.journal.answer_times)}};
  all["context"] = ledger(stats.journal.totals);
  all["context"]["since_start"] = ledger(stats.since_start);
  return all;
}

void add_get_execution_stats(const OperationRegistry& registry, journal::Journal& journal,
                             discovery::CatalogOf catalog_of, LibraryOf library_of,
                             const executions::Sessions& sessions) {
  auto sources =
      std::make_shared<const Sources>(Sources{journal, std::move(catalog_of), std::move(library_of), sessions});
  registry.add(agent_operation(get_execution_stats_definition(), [sources](const tenants::Requester& requester, Json) {
    return get_execution_stats(*sources, requester);
  }));
}

}  // namespace tools
