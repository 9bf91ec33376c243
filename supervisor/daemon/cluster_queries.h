// ClusterQueries: queries of this node to all others, for operators and the doctor, and its answers to queries of other
// nodes (../cluster/link/query_messages.h).
// Source: the executions and policies of this daemon, and the other nodes. Made by: ClusterParts. Errors: unavailable.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "policies/store.h"
#include "supervisor/cluster/link/node_link.h"
#include "supervisor/cluster/link/node_listener.h"
#include "supervisor/executions/execution_registry.h"
#include "supervisor/operations/bus/bus_objects.h"
#include "supervisor/operations/bus/members.h"
#include "supervisor/operations/doctor/doctor.h"

class ClusterQueries {
 public:
  struct Parts {  // must outlive this object
    Loop& loop;
    cluster::NodeLink& link;
    const executions::ExecutionRegistry& executions;
    const policies::Store& policies;
    const bus::Members& members;
  };
  explicit ClusterQueries(const Parts& parts) : parts_(parts), tasks_(parts.loop) {}
  ClusterQueries(const ClusterQueries&) = delete;

  // Answers a query of another node.
  cluster::NodeListener::Rows answer(const cluster::QueryOrder& order, cluster::ClusterQueryKind kind) const;
  // The executions of all nodes, at most a second old. Callers share one query, however many they are.
  using ClusterExecutionsPtr = std::shared_ptr<const bus::ClusterExecutions>;
  Task<Result<ClusterExecutionsPtr>> executions_of_all();
  // The policies of this node that let nodes share workspaces.
  std::vector<cluster::FarPolicy> shared_policies() const;
  // Compares the nodes with each other, for the doctor.
  Task<doctor::Findings> examine();
  // Ends the query that runs, at the end of the daemon.
  void cancel() { tasks_.cancel_all(); }

 private:
  struct LastQuery {
    ClusterExecutionsPtr found;
    Monotonic::time_point at{};
    std::vector<OneShot<Result<ClusterExecutionsPtr>>::Resolver> waiting;
  };
  std::vector<cluster::FarExecution> shown_executions(const cluster::QueryOrder* order, uint64_t& left_out) const;
  Task<> query_executions();

  const Parts parts_;
  LastQuery last_query_;
  Scope tasks_;  // last: cancelled first
};
