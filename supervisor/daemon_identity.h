// DaemonIdentity: the user that warderd runs as after its start. Source: the key "user", the range of the jails' ids.
// Used by: main.cc, privileges.h, configuration/trial.h.
#pragma once
#include <sys/types.h>

#include <string>

#include "jail/id_range.h"
#include "supervisor/base/result.h"

struct DaemonIdentity {
  bool root = false;  // started as root
  uid_t uid = 0;      // the daemon's, after drop_privileges()
  gid_t gid = 0;
};

// For a daemon that root starts: the named user, or the last id of the jails' range where that user does not exist (a
// checkout). Errors: invalid when the user is root, or has an id or group of the range.
Result<DaemonIdentity> identity_under_root(const std::string& user, const jail::IdRange& ids);
// The same for a process of root; any other process keeps its user.
Result<DaemonIdentity> choose_identity(const std::string& user, const jail::IdRange& ids);
