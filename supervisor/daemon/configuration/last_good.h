// Last good copy: the configuration as it was at the last good start, or at the last good reload by `warderd --reload`:
// the merged files, and the files of the policies. A start whose files have a problem uses it.
// Source: the folder last-good/ of the state folder. It belongs to the user that starts the daemon (root), with mode
// 0700: the daemon's own user cannot write it, so a daemon under an attacker's control cannot choose the policies of
// the next start. Used by: main.cc, before privileges are dropped, and reloaded_copy.h. A new copy replaces the old
// one in one step, and is on the disk before. Errors: not_found, there is no copy; denied, another user could have
// written it; others of the file system.
#pragma once
#include <map>
#include <string>

#include "supervisor/daemon/configuration/load.h"

namespace configuration {

inline constexpr char kLastGoodFolder[] = "last-good";

struct ConfigurationCopy {
  std::map<std::string, std::string> files;  // path below the copy's folder, text
  size_t policy_folders = 0;
  bool operator==(const ConfigurationCopy&) const = default;
};
// Reads the files now. `folders`: of policies.
Result<ConfigurationCopy> copy_of(const ConfigurationDocument& document, const std::vector<std::string>& folders);
// Stores the copy, unless the stored copy is the same. `state`: the state folder, which exists.
Result<> keep_last_good(const std::string& state, const ConfigurationCopy& copy);
// Loads the stored copy. Its options name the folders of policies that the copy was made of, so that a reload reads
// those. A copy that has become unusable (a flag or the program changed) has problems, as load() says.
Result<LoadedConfiguration> load_last_good(const std::string& state, const Invocation& invocation);

}  // namespace configuration
