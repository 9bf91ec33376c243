// ClusterQueries: queries of this node to all others, for operators and the doctor, and its answers to queries of other
// nodes (link/query_messages.h).
// Source: the executions and policies of this daemon, and the other nodes. Made by: ClusterPart. Errors: unavailable.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "policies/store.h"
#include "supervisor/cluster/link/node_link.h"
#include "supervisor/cluster/link/node_listener.h"
#include "supervisor/executions/execution_registry.h"
#include "supervisor/operations/bus/members.h"
#include "supervisor/operations/doctor/doctor.h"

namespace cluster {

// The executions of all nodes that wait or run.
struct ClusterExecutions {
  std::vector<std::pair<std::string, FarExecution>> executions;  // each with its node
  std::vector<std::string> unanswered;                           // nodes that did not answer in time
  uint64_t left_out = 0;                                         // executions: there were too many
};

class ClusterQueries {
 public:
  struct Parts {  // must outlive this object
    Loop& loop;
    NodeLink& link;
    const executions::ExecutionRegistry& executions;
    const policies::Store& policies;
    const bus::Members& members;
  };
  explicit ClusterQueries(const Parts& parts) : parts_(parts), tasks_(parts.loop) {}
  ClusterQueries(const ClusterQueries&) = delete;

  // Answers a query of another node.
  NodeListener::Rows answer(const QueryOrder& order, ClusterQueryKind kind) const;
  // The executions of all nodes, at most a second old. Callers share one query, however many they are.
  using ClusterExecutionsPtr = std::shared_ptr<const ClusterExecutions>;
  Task<Result<ClusterExecutionsPtr>> executions_of_all();
  // The policies of this node that let nodes share workspaces.
  std::vector<FarPolicy> shared_policies() const;
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
  std::vector<FarExecution> shown_executions(const QueryOrder* order, uint64_t& left_out) const;
  Task<> query_executions();

  const Parts parts_;
  LastQuery last_query_;
  Scope tasks_;  // last: cancelled first
};

}  // namespace cluster
