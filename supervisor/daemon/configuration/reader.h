// Reader: the settings that a document, the flags and the defaults give together. Collects all problems; a key with a
// problem keeps its default.
// Source: ConfigurationDocument, Invocation. Used by: load.cc. A problem names file, key, value and remedy:
// "/etc/warder/warderd.json: journal.days_kept: 0 is outside 1..36500".
#pragma once
#include <string>
#include <vector>

#include "supervisor/daemon/configuration/document.h"
#include "supervisor/daemon/configuration/options.h"

namespace configuration {

// Notes: sentences about the files. problems: the configuration cannot be used. shortfalls: this machine lacks what one
// listener needs; a start does without it and is degraded (trial.h). warnings: one entry cannot be used and is skipped;
// all else works.
struct Shortfall {
  std::string key;   // "http.listen[0]"
  std::string text;  // with file, key and remedy
};
struct Notes {
  std::vector<std::string> problems, warnings;
  std::vector<Shortfall> shortfalls;
  std::vector<std::string> unreadable_imports;  // files of other users, which only root may read
};

// Without files and flags. By paths of file-hierarchy(7) for root, of the XDG base directories for other users.
Options default_options(const Invocation& invocation);
Options read_options(const ConfigurationDocument& document, const Invocation& invocation, Notes& notes);

// Checks of single values, for flags and keys. Errors: invalid, without the name of the flag or key.
Result<> check_bus(const std::string& bus);
Result<> check_socket_path(const std::string& path);
Result<> check_metrics(const std::string& path);  // a socket's path, or a loopback address
Result<> check_http_address(const std::string& address, bool is_public);
Result<> check_log_level(const std::string& level);
Result<> check_durability(const std::string& durability);

}  // namespace configuration
