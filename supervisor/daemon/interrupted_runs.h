// InterruptedRuns: background executions of workflows that the last daemon's end interrupted. They are started again,
// as often as their policy allows, and only if their client would be admitted today, with the same tenant. Source: the
// journal (take_runs()). Made by: DaemonParts. Errors are answers: an execution that is not started again gets a
// refusal, under the id that its client knows.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "supervisor/daemon/cluster_parts.h"
#include "supervisor/executions/runs/execute.h"
#include "supervisor/privileges.h"
#include "supervisor/protocol/streamable_http/authenticator.h"

class InterruptedRuns {
 public:
  struct Parts {  // must outlive this object
    Loop& loop;
    const DaemonIdentity& identity;
    const streamable_http::TokenAuthenticator& tokens;
    tenants::Registry& registry;
    tasks::TaskStore& tasks;
    workflows::WorkflowStore& workflows;
    runs::ExecuteEnvironment& execute;
    ClusterParts& cluster;
  };
  explicit InterruptedRuns(const Parts& parts) : parts_(parts), tasks_(parts.loop) {}
  InterruptedRuns(const InterruptedRuns&) = delete;

  // Notes the ids of interrupted executions. Returns the new id of each.
  std::map<std::string, std::string> adopt(std::vector<std::string> executions);
  // Starts the noted executions again. Call it once, when clients are served.
  void resume();
  void cancel() { tasks_.cancel_all(); }

 private:
  // An execution, and the id under which it continues.
  struct InterruptedRun {
    std::string before, now;
  };
  std::string successor_of(const std::string& execution) const;
  Task<> resume_run(InterruptedRun ids);
  Task<> end_former(const workflows::StoredRun& run, InterruptedRun ids);
  Result<std::shared_ptr<tenants::Member>> admit_again(const workflows::StoredRun& run);

  const Parts parts_;
  std::vector<InterruptedRun> runs_;                               // until resume()
  std::map<std::string, std::weak_ptr<tenants::Member>> members_;  // by StoredRun::caller
  Scope tasks_;                                                    // last: cancelled first
};
