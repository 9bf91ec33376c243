// read_first_line(): reads the first line of a connection, and no byte behind it, so that another reader may take the
// socket over. And the two functions for messages with a part that is not JSON: a line, then bytes.
// Used by: node_link.cc, node_listener.cc, rule_fetch.cc, warder-node.
// Errors: unavailable: the other side closed the socket, or sent no line in time; invalid: the line is too long.
#pragma once
#include <chrono>
#include <string>

#include "supervisor/base/loop.h"
#include "supervisor/base/result.h"

namespace cluster {

// `socket`: a non-blocking stream socket, which must outlive the task. `max`: bytes of the line, without its newline.
Task<Result<std::string>> read_first_line(Loop& loop, AsyncFd& socket, size_t max, std::chrono::milliseconds limit);

// Reads exactly `count` bytes. The caller bounds the time: shutdown(2) of the socket ends the task with an error.
Task<Result<std::string>> read_exactly(AsyncFd& socket, size_t count);
// Writes all of `bytes`, and waits while the other side does not read. False: the other side has closed the socket.
Task<bool> send_all(AsyncFd& socket, std::string bytes);

}  // namespace cluster
