// `warder mcp`: the program that MCP clients spawn. JSON lines between its standard streams and warderd's socket,
// over restarts of warderd and without it. A poll() loop of its own: it starts in a millisecond and holds two
// descriptors. What it says on the wire is decided in relay.h.
// Standard output carries protocol lines only; what a person should know goes to standard error.
#pragma once
#include "supervisor/cli/socket.h"

namespace cli {

// Returns the exit status when the client is gone (end of standard input, a closed output, its death) or a signal
// asks for it. At the end of input it waits at most a second for answers that are owed.
int run_stdio_proxy(const SocketPath& socket);

}  // namespace cli
