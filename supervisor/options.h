// Options: what warderd was told, from flags over the configuration file over what fits the way it was started.
// Source: argv, --config FILE (JSON). Errors: invalid, one sentence naming the flag or key and the remedy.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "jail/host.h"
#include "supervisor/base/log.h"
#include "supervisor/journal/journal.h"
#include "supervisor/traces/collector.h"
#include "supervisor/upstream/server_config.h"

struct Options {
  std::string socket;   // ignored when systemd passes one
  std::string metrics;  // the same, for metrics; empty: none
  std::optional<traces::Collector> traces;
  std::string state;                  // absolute
  std::vector<std::string> policies;  // folders, later ones mask files of earlier ones
  std::string catalog;                // absolute; empty: no tool definitions
  std::string bus = "off";            // system, session, off, or an address
  std::string user = "warder";        // started as root: who the daemon becomes
  std::optional<jail::IdRange> ids;
  journal::Settings journal;
  enum class Connections { end_with_us, kept } connections = Connections::end_with_us;
  std::vector<upstream::ServerConfig> servers;  // upstream servers, whose tools code and agents call
  std::vector<std::string> servers_skipped;     // of imported files: not started by a command
  LogLevel log_level = LogLevel::info;
  std::string jail_init;  // the program warder-jail-init
  std::string guest;      // folder of the programs that run inside jails
  std::string skills;     // folder of the skills that everybody shares; empty: none
};

// nothing: the text for --help or --version was printed and there is nothing more to do.
Result<std::optional<Options>> parse_options(int argc, char** argv);
