// Notifications about changed files of workspaces, as a part of the daemon.
#include "supervisor/executions/runs/execute_environment.h"
#include "supervisor/parts.h"
#include "supervisor/protocol/mcp/server.h"
#include "supervisor/tenants/proposals/proposal_stores.h"
#include "supervisor/tenants/tenant.h"
#include "supervisor/tools/workspace/resource_changes.h"

namespace tools {
namespace {

class ChangesPart final : public Part {
 public:
  ChangesPart(Loop& loop, mcp::Server& server) : changes_(loop, server) {}

  static Result<std::unique_ptr<ChangesPart>> open(Loop& loop, mcp::Server& server, tenants::Registry& registry,
                                                   runs::ExecuteEnvironment& execute,
                                                   proposals::ProposalStores& proposals) {
    auto part = std::make_unique<ChangesPart>(loop, server);
    ResourceChanges& changes = part->changes_;
    server.watch_resources([&registry, &changes](const std::shared_ptr<mcp::ConnectionUser>& user, const Json& meta,
                                                 const std::string& uri) -> std::shared_ptr<mcp::ResourceWatch> {
      const auto tenant = registry.workspace_in(tenants::member_of(user), meta);
      return tenant ? changes.watch(*tenant, uri) : nullptr;
    });
    execute.files_changed = [&changes](const tenants::Tenant& tenant, const tenants::Changes& changed) {
      changes.notify(tenant, changed);
    };
    proposals.on_files_changed(execute.files_changed);
    return part;
  }
  std::tuple<ResourceChanges&> services() { return {changes_}; }

 private:
  ResourceChanges changes_;
};

}  // namespace

PartEntry changes_part() { return part_entry_of("changes", ChangesPart::open); }

}  // namespace tools
