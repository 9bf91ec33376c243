// Flags: the flags of warderd. Declared once, for command_line.cc, which reads them, and for the manual page (docgen/).
#pragma once
#include <string>
#include <vector>

namespace CLI {
class App;
}

inline constexpr char kDaemonDescription[] = "Runs agents' code in jails, over MCP on a Unix socket.";

struct Flags {  // as given on the command line; empty: not given
  std::string config, socket, state, policies, catalog, bus, journal, log_level, metrics, traces;
  std::vector<std::string> http;
  bool keep_connections = false, check = false, reload = false;
};

// `flags` must live as long as `app`.
void declare_flags(CLI::App& app, Flags& flags);
