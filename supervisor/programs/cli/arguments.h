// Arguments: runs the command line of `warder`. main.cc starts `warder mcp` directly, to save time.
#pragma once

namespace cli {

// Parses and runs the command line. Returns the exit status. Errors are printed on standard error.
int run_command_line(int argc, char** argv);

}  // namespace cli
