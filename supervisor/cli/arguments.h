// The command line of `warder`, all of it but the short way to `warder mcp` (main.cc).
#pragma once

namespace cli {

// Parses, runs, returns the exit status. Everything that can be wrong is said on standard error.
int run_command_line(int argc, char** argv);

}  // namespace cli
