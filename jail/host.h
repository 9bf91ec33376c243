// Host: what this machine and this daemon offer to jails, found once at start-up (jail/execution/self_test.h).
// Source: supervisor/daemon/. Used by: every file of jail/ that builds or runs jails. Its members outlive every jail.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "jail/id_range.h"
#include "jail/jailer_client/jailer_client.h"
#include "jail/plan_parts.h"
#include "jail/runner_ids.h"
#include "jail/talk/replies.h"
#include "jail/usage/cgroup.h"
#include "jail/usage/disk_users.h"
#include "jail/usage/tree_reader.h"
#include "supervisor/base/loop.h"
#include "supervisor/base/loop_shares.h"
#include "supervisor/base/work.h"

namespace jail {

struct Host {
  Loop& loop;
  JailerClient& jailer;
  CgroupTree* cgroups = nullptr;  // nullptr: no usable cgroup v2 here
  std::string no_cgroups_why;     // for receipts and refusals
  RootMode root = RootMode::overlay;
  std::string bind_root_why;
  Identity identity = Identity::shared;
  IdRange ids;
  RunnerIds runner_ids{ids.first_runner(), ids.runners()};
  uint32_t daemon_uid = 0, daemon_gid = 0;
  bool map_workspace_ids = false;  // the state directory's file system can be mounted with mapped ids
  std::string no_idmap_why;
  int landlock_abi = 0;
  std::string network_seen;  // by the self-test in a jail: "1 link, 2 addresses, ..."; empty: not seen
  std::string network_unseen_why;
  std::optional<Error> unfit;       // set when the self-test failed: only the self-test builds jails then
  bool has_project_quotas = false;  // of the state directory's file system; without: O_TMPFILE is refused
  Replies::Room replies = {};
  Work work{loop};  // on data of agents, jails, servers and nodes
  TreeReader trees{loop};
  DiskUsers disk_users{loop, jailer};
  LoopShares shares{loop};  // shares of the loop's time: for each tenant's programs, and for the daemon's users
};

}  // namespace jail
