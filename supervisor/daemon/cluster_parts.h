// ClusterParts: the daemon as a node of a cluster: its link to warder-node, its moves of workspaces, the requests of
// other nodes, and what D-Bus shows of the cluster. Without the key "cluster" in the configuration there is no cluster:
// the functions then say so (unavailable), or do nothing.
// Source: the key "cluster", and the socket for warder-node. Errors of begin() and serve(): those of RuleFollower,
// Moves and NodeListener.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "supervisor/cluster/link/membership.h"
#include "supervisor/cluster/moves/moves.h"
#include "supervisor/daemon/client_doors.h"
#include "supervisor/daemon/cluster_queries.h"
#include "supervisor/daemon/prepared.h"
#include "supervisor/daemon_controls.h"
#include "supervisor/executions/admission.h"
#include "supervisor/executions/sessions.h"
#include "supervisor/executions/skill_stores/tenant_skills.h"
#include "supervisor/operations/bus/bus_objects.h"
#include "supervisor/operations/metrics/cluster.h"
#include "supervisor/parts.h"
#include "supervisor/records/workflows/workflow_store.h"
#include "supervisor/upstream/discovery/catalog_watch.h"

class ClusterParts final : public Part,
                           public Beginner,
                           public Opener,
                           public Drainer,
                           public FindingSource,
                           public MetricSource {
 public:
  struct Parts {  // must outlive this object
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
    workflows::WorkflowStore& workflows;
    skill_stores::TenantSkills& skills;
    discovery::Discovery& discovery;
    const ::Parts& all;  // for the data of tenants
  };
  explicit ClusterParts(const Parts& parts);
  ClusterParts(const ClusterParts&) = delete;
  ~ClusterParts() override;
  std::tuple<ClusterParts&> services() { return {*this}; }

  // Connects to warder-node, and takes the rules of the cluster.
  Task<Result<>> begin() override;
  // Takes requests of other nodes, and serves them like clients of doors.main_listener().
  Result<> serve() override;
  void refuse_calls() override;
  // Takes no further requests, and ends the tasks of this object.
  void disconnect() override;

  // The tools that the rules of the cluster define. nullptr: the rules are not used.
  const cluster::RuleFollower* rules() const { return membership_ ? membership_->rules() : nullptr; }
  // Returns when this node may run programs of the workspace: at once, unless nodes of a cluster share it. Errors:
  // unavailable: another node is its home, or this node got no lease in time.
  Task<Result<>> wait_for_home(std::string tenant, std::shared_ptr<const policies::Policy> policy);
  // Removes the records that say that this node is the home of the tenant's workspaces.
  Task<Result<>> leave(std::string tenant);

  bus::ClusterServices bus_services();
  void write_metrics(metrics::OpenMetricsText& text, Reader reader) const override;
  Task<doctor::Findings> examine() override;  // no findings without a cluster

 private:
  Result<> join();
  metrics::ClusterNumbers numbers() const;
  void adopt_skills();
  void end_shared_work(cluster::LeaseEnd end);
  Task<Result<bus::RestoredHome>> restore_home(std::string file);

  const Parts parts_;
  // nullptr without a cluster; otherwise set by join(). The moves and the queries use the membership, so that they are
  // destroyed first.
  std::unique_ptr<cluster::Membership> membership_;
  std::unique_ptr<moves::Moves> moves_;
  std::unique_ptr<ClusterQueries> queries_;
  Scope tasks_;  // last: cancelled first
};
