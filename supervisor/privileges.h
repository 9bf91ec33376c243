// Privileges: who the daemon is, and how it stops being more. Two ways to start: as root (it becomes a plain user
// after the jailer was forked), or as a user (it makes a user namespace of its own, in which the jailer has power).
// Source: user_namespaces(7), capabilities(7). Called once, single-threaded, before the loop exists.
#pragma once
#include <sys/types.h>
#include <string>

#include "jail/host.h"
#include "supervisor/base/result.h"

struct DaemonIdentity {
  bool root = false;  // started as root
  uid_t uid = 0;      // what the daemon runs as
  gid_t gid = 0;
};

// As root: the named user, or the last id of the jails' range where that user does not exist (a checkout).
// Errors: invalid when the user is root, or has an id or group of the range.
Result<DaemonIdentity> choose_identity(const std::string& user, const jail::IdRange& ids);

// Not root: a user namespace in which our own id maps to itself, and a mount namespace that still follows the
// host's mounts. Gives the capabilities that the jailer keeps. Errors: unavailable with the sysctl to look at.
Result<> enter_own_namespaces(const DaemonIdentity& identity);

// The daemon's part: no capabilities in any set, no_new_privs, and as root another user. Cannot be undone.
Result<> drop_privileges(const DaemonIdentity& identity);
