// Invocation: how warderd was started: its flags, and the facts of its start that decide about defaults. A reload reads
// the configuration with the same invocation, so that the user that the daemon has become changes no default.
// Source: supervisor/command_line.cc; of `warder config check`: supervisor/programs/cli/admin/config_check.cc. Used by:
// configuration::load().
#pragma once
#include <string>
#include <vector>

#include "supervisor/flags.h"

namespace configuration {

struct Invocation {
  Flags flags;           // checked, with absolute paths
  bool by_root = false;  // root's defaults: /etc/warder, /run/warder, /var/lib/warder
  std::string folder;    // the working folder; relative paths in the configuration begin here
  std::string programs;  // the folder above this program's folder, in which the installation's or the build's files lie
};

// The invocation of this process. `flags` are taken as they are.
Invocation invocation_of(Flags flags);
// `path` as an absolute path without "." and ".."; relative paths begin at the working folder. Empty stays empty.
std::string absolute_path(const std::string& path, const Invocation& invocation);

// The folders of a list "DIR:DIR:...", the form of --policies. Empty parts are left out.
std::vector<std::string> folders_in(const std::string& list);
// The same list with absolute paths.
std::string absolute_folders(const std::string& list, const Invocation& invocation);

// The configuration's file when no flag names one: /etc/warder/warderd.json, or the user's
// $XDG_CONFIG_HOME/warder/warderd.json (default: ~/.config). Empty: this user has no home
// folder, or HOME is another user's.
std::string default_file(const Invocation& invocation);

}  // namespace configuration
