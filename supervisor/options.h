// Options: the settings of warderd. Flags win over the configuration file, which wins over the defaults; the defaults
// differ for root and for other users.
// Source: argv, --config FILE (JSON). Used by: main.cc, supervisor/daemon/. Errors: invalid, one sentence naming the
// flag or key and the remedy.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "jail/host.h"
#include "supervisor/base/log.h"
#include "supervisor/base/loopback.h"
#include "supervisor/journal/journal.h"
#include "supervisor/traces/collector.h"
#include "supervisor/upstream/server_config.h"

struct Options {
  std::string socket;   // ignored when systemd passes one
  std::string metrics;  // the Unix socket for metrics, ignored when systemd passes one; empty: none
  std::optional<LoopbackAddress> metrics_address;  // the same, by TCP; one of the two
  std::optional<traces::Collector> traces;
  std::string state;                  // absolute
  std::vector<std::string> policies;  // folders, later ones mask files of earlier ones
  std::string catalog;                // absolute; empty: no tool definitions
  std::string bus = "off";            // system, session, off, or an address
  std::string user = "warder";        // the user that a daemon started as root becomes
  std::optional<jail::IdRange> ids;
  journal::Settings journal;
  enum class Connections { end_with_us, kept } connections = Connections::end_with_us;
  std::vector<upstream::ServerConfig> servers;
  std::vector<std::string> servers_skipped;  // servers in imported files with neither a command nor Streamable HTTP
  LogLevel log_level = LogLevel::info;
  std::string jail_init;  // the program warder-jail-init
  std::string guest;      // folder of the programs that run inside jails
  std::string skills;     // folder of the skills that all tenants share; empty: no shared skills
};

// nullopt: the text of --help or --version was printed, and the program ends.
Result<std::optional<Options>> parse_options(int argc, char** argv);
