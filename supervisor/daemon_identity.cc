#include "supervisor/daemon_identity.h"

#include <fmt/format.h>
#include <unistd.h>

#include "supervisor/base/user_lookup.h"

Result<DaemonIdentity> choose_identity(const std::string& user, const jail::IdRange& ids) {
  if (::geteuid() == 0) return identity_under_root(user, ids);
  return DaemonIdentity{.root = false, .uid = ::geteuid(), .gid = ::getegid()};
}

Result<DaemonIdentity> identity_under_root(const std::string& user, const jail::IdRange& ids) {
  DaemonIdentity identity;
  identity.root = true;
  TRY(const auto entry, find_system_user(user));
  if (entry) {
    identity.uid = entry->uid;
    identity.gid = entry->gid;
    if (ids.has(identity.uid) || ids.has(identity.gid))
      return fail(Code::invalid,
                  fmt::format("user {}: its id {} or group {} is in the range of the jails' ids", user, identity.uid,
                              identity.gid),
                  "choose another id_range.first in the configuration");
  } else {
    identity.uid = identity.gid = ids.daemon();
  }
  if (identity.uid == 0)
    return fail(Code::invalid, fmt::format("user {}: the daemon must not run as root", user),
                "set `user` to an ordinary user in the configuration");
  return identity;
}
