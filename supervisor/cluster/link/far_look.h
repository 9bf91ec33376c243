// FarLook: asks all nodes that are heard, at the same time, and waits for a limit in all. A node that is silent, that
// does not answer in time, or whose answer has another form, is named as one that did not answer.
// Used by: supervisor/daemon/ (warder ps --cluster, the doctor). Errors: unavailable: warder-node is not there.
#pragma once
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "supervisor/base/loop.h"
#include "supervisor/cluster/link/look_messages.h"
#include "supervisor/cluster/link/node_link.h"

namespace cluster {

struct Look {
  LookKind kind = LookKind::executions;
  std::chrono::milliseconds limit{500};  // in all
  // Takes the rows of a node. Errors: they have another form; none of them may be used then.
  std::function<Result<>(const std::string& node, const std::vector<Json>& rows)> take;
};

struct LookResult {
  std::vector<NodeView> nodes;          // all that are known, this one, too
  std::vector<std::string> unanswered;  // nodes
  uint64_t left_out = 0;                // rows
};

// Loop and link must outlive the task.
Task<Result<LookResult>> look_at_all(Loop& loop, NodeLink& link, Look look);

}  // namespace cluster
