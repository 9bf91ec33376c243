// ClusterPart: the daemon as a node of a cluster: its link to warder-node, its moves of workspaces, the requests of
// other nodes, and what D-Bus shows of the cluster. Without the key "cluster" in the configuration there is no cluster:
// the functions then say so (unavailable), or do nothing.
// Source: the key "cluster", and the socket for warder-node. Errors of begin() and serve(): those of RuleFollower,
// Moves and NodeListener.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "supervisor/cluster/cluster_bus.h"
#include "supervisor/cluster/link/membership.h"
#include "supervisor/cluster/moves/moves.h"
#include "supervisor/daemon/client_doors.h"
#include "supervisor/daemon/prepared.h"
#include "supervisor/daemon_controls.h"
#include "supervisor/executions/admission.h"
#include "supervisor/executions/sessions.h"
#include "supervisor/executions/skill_stores/tenant_skills.h"
#include "supervisor/parts.h"
#include "supervisor/records/workflows/workflow.h"
#include "supervisor/upstream/discovery/catalog_watch.h"
#include "supervisor/workspace_homes.h"

namespace cluster {

class ClusterPart final : public Part,
                          public Beginner,
                          public Opener,
                          public Drainer,
                          public FindingSource,
                          public MetricSource,
                          public BusSource,
                          public WorkspaceHomes {
 public:
  struct Rooms {  // must outlive this object
    Loop& loop;
    Prepared& prepared;
    jail::Host& host;
    DaemonControls& controls;
    mcp::Server& server;
    ClientDoors& doors;
    tenants::Registry& registry;
    const bus::Members& members;
    executions::Admission& admission;
    executions::ExecutionRegistry& executions;
    executions::Sessions& sessions;
    proposals::ProposalStores& proposals;
    tasks::TaskStore& tasks;
    tasks::TaskStore& named;
    workflows::WorkflowDisk& workflows;
    skill_stores::TenantSkills& skills;
    discovery::Discovery& discovery;
    const Parts& all;  // for the data of tenants
  };
  explicit ClusterPart(const Rooms& rooms);
  ClusterPart(const ClusterPart&) = delete;
  ~ClusterPart() override;
  std::tuple<WorkspaceHomes&> services() { return {*this}; }

  // Connects to warder-node, and takes the rules of the cluster.
  Task<Result<>> begin() override;
  // Takes requests of other nodes, and serves them like clients of doors.main_listener().
  Result<> serve() override;
  void refuse_calls() override;
  // Takes no further requests, and ends the tasks of this object.
  void disconnect() override;

  Task<Result<>> wait_for_home(std::string tenant, std::shared_ptr<const policies::Policy> policy) override;
  Task<Result<>> leave(std::string tenant) override;
  void add_bus_members(bus::OfferedMembers& members) override;
  void write_metrics(metrics::OpenMetricsText& text, Reader reader) const override;
  Task<doctor::Findings> examine() override;  // no findings without a cluster

 private:
  Result<> join();
  // The tools that the rules of the cluster define. nullptr: the rules are not used.
  const RuleFollower* rules() const { return joined_.membership ? joined_.membership->rules() : nullptr; }
  void adopt_skills();
  void end_shared_work(LeaseEnd end);

  const Rooms rooms_;
  JoinedCluster joined_;  // set by join(); empty without a cluster
  Scope tasks_;           // last: cancelled first
};

}  // namespace cluster
