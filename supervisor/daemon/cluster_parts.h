// ClusterParts: the daemon as a node of a cluster: its link to warder-node, its moves of workspaces, the requests of
// other nodes, and what D-Bus shows of the cluster. Without the key "cluster" in the configuration there is no cluster:
// the functions then say so (unavailable), or do nothing.
// Source: the key "cluster", and the socket for warder-node. Made by: DaemonParts. Errors of join() and listen(): those
// of RuleFollower, Moves and NodeListener.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "supervisor/cluster/link/membership.h"
#include "supervisor/cluster/moves/moves.h"
#include "supervisor/daemon/client_doors.h"
#include "supervisor/daemon/cluster_queries.h"
#include "supervisor/daemon/daemon_controls.h"
#include "supervisor/daemon/prepared.h"
#include "supervisor/daemon/tenant_data.h"
#include "supervisor/executions/admission.h"
#include "supervisor/executions/sessions.h"
#include "supervisor/operations/bus/bus_objects.h"
#include "supervisor/operations/metrics/cluster.h"

class ClusterParts {
 public:
  struct Parts {  // must outlive this object
    Loop& loop;
    Prepared& prepared;
    jail::Host& host;
    const DaemonControls& controls;
    mcp::Server& server;
    ClientDoors& doors;
    TenantData& tenant_data;
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
    std::function<void()> catalog_changed;  // called when the cluster's tool definitions have changed
  };
  explicit ClusterParts(Parts parts) : parts_(std::move(parts)) {}
  ClusterParts(const ClusterParts&) = delete;
  ~ClusterParts();

  // Connects to warder-node, and takes the rules of the cluster. Call it before the doors open.
  Result<> join();
  // Takes requests of other nodes, and serves them like clients of doors.main_listener().
  Result<> listen();
  void stop_listening();
  // Takes no further requests, and ends the tasks of this object.
  void disconnect();

  // The tools that the rules of the cluster define. nullptr: the rules are not used.
  const cluster::RuleFollower* rules() const { return membership_ ? membership_->rules() : nullptr; }
  // Returns when this node may run programs of the workspace: at once, unless nodes of a cluster share it. Errors:
  // unavailable: another node is its home, or this node got no lease in time.
  Task<Result<>> wait_for_home(std::string tenant, std::shared_ptr<const policies::Policy> policy);
  // Removes the records that say that this node is the home of the tenant's workspaces.
  Task<Result<>> leave(std::string tenant);

  bus::ClusterServices services();
  metrics::ClusterNumbers numbers() const;
  Task<doctor::Findings> examine();  // no findings without a cluster

 private:
  void adopt_skills();
  void end_shared_work(cluster::LeaseEnd end);
  Task<Result<bus::RestoredHome>> restore_home(std::string file);

  const Parts parts_;
  // nullptr without a cluster; otherwise set by join(). The moves and the queries use the membership, so that they are
  // destroyed first.
  std::unique_ptr<cluster::Membership> membership_;
  std::unique_ptr<moves::Moves> moves_;
  std::unique_ptr<ClusterQueries> queries_;
};
