// FilesInForce: which files a daemon was started with. Another program reads the same files with its own flags, and
// compares: only files of the daemon are changed for it, and only they become its last good copy.
// Source: the Invocation and Options of the daemon (D-Bus, the answer of a reload), or of the program that asks.
// Used by: `warderd --reload`, supervisor/programs/cli/servers/, supervisor/operations/bus/. The daemon's answer is a
// reason to refuse, and never names a file that root then writes: the daemon may be under an attacker's control.
#pragma once
#include <string>
#include <vector>

#include "supervisor/daemon/configuration/load.h"

namespace configuration {

struct FilesInForce {
  std::string main;                   // the configuration's file; it may be missing. Drop-ins are in MAIN.d/
  std::string state;                  // folder
  std::vector<std::string> policies;  // folders
  bool operator==(const FilesInForce&) const = default;
};

FilesInForce files_of(const Invocation& invocation, const Options& options);
// Errors of all: invalid, naming both files or folders, and the flags that make them the same.
Result<> expect_same_files(const FilesInForce& own, const FilesInForce& daemons);
Result<> expect_main_file(const std::string& own, const std::string& daemons);
Result<> expect_policy_folders(const std::vector<std::string>& own, const std::vector<std::string>& daemons);

}  // namespace configuration
