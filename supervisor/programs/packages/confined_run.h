// run_confined(): runs a program that reads a stranger's files (npm, tar) as a user that owns no other files. The
// program has one folder that it may write, sees no home folders and none of Warder's files, has no capabilities, no
// other processes, and a network only if it is asked for. All its processes are dead when the call returns. Source:
// namespaces(7), mount_setattr(2). Used by: npm_package.cc, with the privileges of root. Not a jail: nothing of a
// package is executed here (`npm --ignore-scripts`), so the programs are trusted, and their input is not. Errors:
// denied: not root; unavailable: it cannot be started, took too long, or did not end with status 0, with its last
// output; exhausted: it wrote more than its folder may hold.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "supervisor/base/result.h"
#include "supervisor/programs/packages/tree_copy.h"

namespace packages {

// The user: an id beyond those of jails (jail/id_range.h), which no account has.
inline constexpr uid_t kFetcherId = 0x7001'0000;

struct ConfinedRun {
  enum class Network { none, host };
  std::vector<std::string> words;  // words[0] is looked up in /usr/local/bin, /usr/bin and /bin
  std::string folder;              // absolute, not below a hidden folder; given to the user, and its working folder
  std::vector<std::pair<std::string, std::string>> environment;  // besides PATH, HOME and TMPDIR
  Network network = Network::none;
  std::chrono::seconds limit{600};
  TreeLimits folder_limits;  // looked at twice a second, so that it may be over them for a moment
};

// The program's output, at most the last 64 KiB. `standard_input`: a descriptor, or -1: empty.
Result<std::string> run_confined(const ConfinedRun& confined_run, int standard_input = -1);

}  // namespace packages
