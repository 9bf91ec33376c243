// Privileges: how the daemon drops its privileges. The daemon starts in one of two ways. As
// root, it becomes an ordinary user after the jailer was started. As an ordinary user, it makes a user namespace in
// which the jailer has capabilities.
// Source: user_namespaces(7), capabilities(7). Used by: main.cc, once, single-threaded, before the loop exists.
#pragma once
#include "jail/host.h"
#include "supervisor/base/result.h"
#include "supervisor/daemon_identity.h"

// Not root: makes a user namespace in which the caller's id maps to itself, and a mount namespace that still receives
// the host's mounts. Gives the jailer its capabilities. Errors: unavailable, naming the sysctl to check.
Result<> enter_own_namespaces(const DaemonIdentity& identity);

// As root: from now on this process and its children get no netlink socket but of the protocols that are left:
// NETLINK_ROUTE for the jailer and jail-init, which opens one for the self-test before it starts any code (the filter
// of a policy then refuses these, too); none for the daemon. The unit's RestrictAddressFamilies= knows no protocols.
// Cannot be undone.
enum class NetlinkAccess { route, none };
Result<> restrict_netlink(NetlinkAccess remaining);

// For the daemon: no capabilities in any set, no_new_privs, no netlink, and if started as root the user of `identity`.
// Cannot be undone.
Result<> drop_privileges(const DaemonIdentity& identity);
