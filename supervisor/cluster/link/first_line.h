// read_first_line(): reads the first line of a connection, and no byte behind it, so that another reader may take the
// socket over. Used by: node_link.cc, node_listener.cc.
// Errors: unavailable: the other side closed the socket, or sent no line in time; invalid: the line is too long.
#pragma once
#include <chrono>
#include <string>

#include "supervisor/base/loop.h"
#include "supervisor/base/result.h"

namespace cluster {

// `socket`: a non-blocking stream socket, which must outlive the task. `most`: bytes of the line, without its newline.
Task<Result<std::string>> read_first_line(Loop& loop, AsyncFd& socket, size_t most, std::chrono::milliseconds limit);

}  // namespace cluster
