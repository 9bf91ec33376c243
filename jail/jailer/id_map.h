// Id maps: the host ids behind a jail's ids, and mounts with mapped owners (user_namespaces(7), mount_setattr(2)
// MOUNT_ATTR_IDMAP).
// Used by: jail/jailer/jailer.cc only; needs CAP_SETUID and CAP_SETGID there.
#pragma once
#include <cstdint>
#include <map>
#include <tuple>

#include "jail/plan_parts.h"
#include "supervisor/base/fd.h"
#include "supervisor/base/result.h"

namespace jail {

struct HostIds {  // the runner's ids count for Identity::separated only
  uint32_t init_uid, init_gid, runner_uid, runner_gid;
};
// Writes setgroups, uid_map, gid_map and oom_score_adj of a child that waits for these maps. `pidfd` proves that `pid`
// is still that child. Errors: internal, naming the file.
Result<> map_ids(int pid, int pidfd, Identity identity, const HostIds& ids);

// MountMappings: user namespaces that exist only to describe a mapping for mounts. Each is made once and reused
// (bounded).
class MountMappings {
 public:
  // Descriptor of the namespace. Borrowed: it may close when another mapping is made.
  Result<int> find_or_make(uint32_t owner_uid, uint32_t owner_gid, uint32_t runner_id);

 private:
  static constexpr size_t kMax = 1024;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, Fd> created_;
};

}  // namespace jail
