// ClusterQuery: a question to all nodes that are heard, asked at the same time, with a limit in all. A node that is
// silent, that does not answer in time, or whose answer has another form, is named as one that did not answer.
// Used by: supervisor/daemon/ (warder ps --cluster, the doctor). Errors: unavailable: warder-node is not there.
#pragma once
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "supervisor/base/loop.h"
#include "supervisor/cluster/link/node_link.h"
#include "supervisor/cluster/link/query_messages.h"

namespace cluster {

struct ClusterQuery {
  ClusterQueryKind kind = ClusterQueryKind::executions;
  std::chrono::milliseconds limit{500};  // in all
  // Takes the rows of a node. Errors: the rows have another form; no row may be used then.
  std::function<Result<>(const std::string& node, const std::vector<Json>& rows)> take;
};

struct ClusterQueryResult {
  std::vector<NodeView> nodes;          // all that are known, this one, too
  std::vector<std::string> unanswered;  // nodes
  uint64_t left_out = 0;                // rows
};

// Loop and link must outlive the task.
Task<Result<ClusterQueryResult>> query_all_nodes(Loop& loop, NodeLink& link, ClusterQuery query);

}  // namespace cluster
