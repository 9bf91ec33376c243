// InterruptedRuns: background executions of workflows that the last daemon's end interrupted. They are started again,
// as often as their policy allows, and only if their client would be admitted today, with the same tenant. Source: the
// journal (take_runs()). Errors are answers: an execution that is not started again gets a
// refusal, under the id that its client knows.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "supervisor/daemon/client_doors.h"
#include "supervisor/executions/runs/execute.h"
#include "supervisor/privileges.h"
#include "supervisor/workspace_homes.h"

class InterruptedRuns final : public Part, public Opener, public Tidier, public Drainer {
 public:
  // All must outlive this object.
  InterruptedRuns(Loop& loop, const DaemonIdentity& identity, const ClientDoors& doors, tenants::Registry& registry,
                  tasks::TaskStore& tasks, workflows::WorkflowDisk& workflows, runs::ExecuteEnvironment& execute,
                  WorkspaceHomes* homes)
      : loop_(loop),
        identity_(identity),
        doors_(doors),
        registry_(registry),
        background_(tasks),
        workflows_(workflows),
        execute_(execute),
        homes_(homes),
        tasks_(loop) {}

  // Notes the ids of interrupted executions. Returns the new id of each.
  std::map<std::string, std::string> adopt(std::vector<std::string> executions);
  // Starts the noted executions again.
  Result<> serve() override;
  // Without the annex of workflows: removes those that have expired. The annex does it where it is.
  Task<std::chrono::seconds> tidy() override;
  void disconnect() override { tasks_.cancel_all(); }

 private:
  // An execution, and the id under which it continues.
  struct InterruptedRun {
    std::string before, now;
  };
  std::string successor_of(const std::string& execution) const;
  Task<> resume_run(InterruptedRun ids);
  Task<> end_former(const workflows::StoredRun& run, InterruptedRun ids);
  Result<std::shared_ptr<tenants::Member>> readmit(const workflows::StoredRun& run);

  Loop& loop_;
  const DaemonIdentity& identity_;
  const ClientDoors& doors_;
  tenants::Registry& registry_;
  tasks::TaskStore& background_;
  workflows::WorkflowDisk& workflows_;
  runs::ExecuteEnvironment& execute_;
  WorkspaceHomes* homes_;                                          // nullptr: no workspace is shared with other nodes
  std::vector<InterruptedRun> runs_;                               // until serve()
  std::map<std::string, std::weak_ptr<tenants::Member>> members_;  // by StoredRun::caller
  Scope tasks_;                                                    // last: cancelled first
};
