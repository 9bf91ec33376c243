// Id maps: which host ids a jail's ids are, and mounts whose owners are mapped (user_namespaces(7),
// mount_setattr(2) MOUNT_ATTR_IDMAP). Used by the jailer only; needs CAP_SETUID and CAP_SETGID there.
#pragma once
#include <cstdint>
#include <map>
#include <tuple>

#include "jail/plan.h"
#include "supervisor/base/fd.h"
#include "supervisor/base/result.h"

namespace jail {

struct HostIds {  // the runner's count where it has its own (Identity::separated)
  uint32_t init_uid, init_gid, runner_uid, runner_gid;
};
// Writes setgroups, uid_map, gid_map and oom_score_adj of a child that waits for it. `pidfd` proves that
// `pid` is still that child. Errors: internal, naming the file.
Result<> map_ids(int pid, int pidfd, Identity identity, const HostIds& ids);

// User namespaces that exist only to describe a mapping for mounts, made once each and kept (bounded).
class MountMappings {
 public:
  // Borrowed; lives until `kMost` others have been asked for.
  Result<int> find_or_make(uint32_t owner_uid, uint32_t owner_gid, uint32_t runner_id);

 private:
  static constexpr size_t kMost = 1024;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, Fd> made_;
};

}  // namespace jail
