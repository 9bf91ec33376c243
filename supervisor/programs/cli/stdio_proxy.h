// Stdio proxy: `warder mcp`, the program that MCP clients start. It passes JSON lines between its standard streams and
// warderd's socket; the client stays connected while warderd restarts or does not run. It has its own poll() loop, so
// that it starts in a millisecond and holds two descriptors. relay.h decides about the lines.
// Standard output carries only protocol lines; messages for people go to standard error. Used by: main.cc,
// arguments.cc.
#pragma once
#include "supervisor/programs/cli/socket.h"

namespace cli {

// Returns the exit status when the client has left (end of standard input, a closed output, its death) or a signal asks
// the proxy to end. At the end of input it waits at most a second for missing answers.
int run_stdio_proxy(const SocketPath& socket);

}  // namespace cli
