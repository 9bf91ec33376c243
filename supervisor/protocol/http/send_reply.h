// send_reply(): the last bytes to a client whose connection is closed then. Used by: endpoint.cc,
// supervisor/egress/connection.cc. No errors: a client that has left gets no reply. There is no time limit: the caller
// shuts the socket down when one is over.
#pragma once
#include <cstddef>
#include <string_view>

#include "supervisor/base/loop.h"

namespace http {

// Sends all of `bytes`, and ends the output. Then reads up to `max_unread` bytes until the client closes: a TCP socket
// that is closed with unread bytes resets the connection, and the client may lose the reply. Client and bytes must
// outlive the task.
Task<> send_reply(AsyncFd& client, std::string_view bytes, size_t max_unread);

}  // namespace http
