// The tools for files of the workspace, and its resources, as a part of the daemon.
#include "supervisor/executions/recent_code.h"
#include "supervisor/parts.h"
#include "supervisor/tools/workspace/resource_changes.h"
#include "supervisor/tools/workspace/workspace_tools.h"

namespace tools {
namespace {

class WorkspaceToolsPart final : public Part, public ToolSource {
 public:
  WorkspaceToolsPart(ResourceChanges& changes, runs::ExecutionStores stores, journal::Journal& journal,
                     ResourceDeleter* workflows, const executions::RecentCode& recent_code)
      : changes_(changes), stores_(stores), journal_(journal), workflows_(workflows), recent_code_(recent_code) {}

  static Result<std::unique_ptr<WorkspaceToolsPart>> open(ResourceChanges& changes, tasks::TaskStore& background,
                                                          runs::NamedExecutions& named,
                                                          executions::ExecutionRegistry& executions,
                                                          journal::Journal& journal, ResourceDeleter* workflows,
                                                          executions::RecentCode& recent_code) {
    const runs::ExecutionStores stores{background, named.store, executions};
    return std::make_unique<WorkspaceToolsPart>(changes, stores, journal, workflows, recent_code);
  }

  void add_tools(const OperationRegistry& operations) override {
    add_workspace_tools(operations, changes_, stores_, journal_, workflows_);
    operations.server().add_resources(workspace_resources(operations.requester_of(), journal_, stores_, recent_code_));
    operations.server().add_completion(workspace_completion(operations.requester_of()));
  }

 private:
  ResourceChanges& changes_;
  const runs::ExecutionStores stores_;
  journal::Journal& journal_;
  ResourceDeleter* workflows_;
  const executions::RecentCode& recent_code_;
};

}  // namespace

PartEntry workspace_part() { return part_entry_of("workspace tools", WorkspaceToolsPart::open); }

}  // namespace tools
