// read_lines(): reads the lines of a connection until its end. Used by: cluster_query.cc, node_link.cc, warder-node.
// No errors.
#pragma once
#include <functional>

#include "supervisor/base/line_splitter.h"
#include "supervisor/base/loop.h"

namespace cluster {

// Passes each line of at most `max` bytes to `take`, and tells it of longer ones, until `take` returns false or the
// connection ends. True: `take` has ended it. The socket must outlive the task.
Task<bool> read_lines(Loop& loop, AsyncFd& socket, size_t max,
                      std::function<bool(const LineSplitter::Item& line)> take);

}  // namespace cluster
