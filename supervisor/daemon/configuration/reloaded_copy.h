// ReloadedCopy: the last good copy that root stores after a reload by another process, the daemon. Stored is only what
// the daemon runs: it must have been started with the same files, and they must be the same before and after the
// reload. Source: the files of an Invocation. Used by: `warderd --reload`,
// supervisor/programs/cli/servers/running_daemon.cc.
#pragma once
#include <optional>

#include "supervisor/daemon/configuration/files_in_force.h"
#include "supervisor/daemon/configuration/last_good.h"

namespace configuration {

class ReloadedCopy {
 public:
  // Reads the files; called before the reload is asked for.
  static ReloadedCopy read(Invocation invocation);
  // Reads the files again, after a good reload, and stores the copy. `daemons`: the daemon's answer; nullopt: it is of
  // a version that does not tell. Errors: invalid: the daemon reads other files, or these have a mistake; unavailable:
  // a file was changed meanwhile; others of last_good.h. Nothing is stored then.
  Result<> keep(const std::optional<FilesInForce>& daemons) const;

 private:
  Invocation invocation_;
  FilesInForce files_;
  Result<ConfigurationCopy> copy_;
};

}  // namespace configuration
