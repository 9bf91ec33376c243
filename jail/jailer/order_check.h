// OrderCheck: decides which orders the jailer carries out. The daemon parses text of clients, so the jailer does not
// trust its orders. It checks them against its own knowledge, and against what the daemon passed before it gave its
// privileges up: ids, folders, the cgroup.
// Used by: jail/jailer/jailer.cc, for every order before it is carried out. Errors: OrderVerdict.
#pragma once
#include <optional>
#include <vector>

#include "jail/id_range.h"
#include "jail/jailer/allowed_folders.h"
#include "jail/jailer/living_jails.h"
#include "jail/orders.h"

namespace jail {

// What the jailer knows: from the daemon before it gave its privileges up, and from its own tests.
struct OrderRules {
  bool separated = false;  // root started the daemon: init, code and daemon have different host ids
  IdRange ids;             // separated: the ids of jails
  uint32_t daemon_uid = 0, daemon_gid = 0;
  bool maps_mounts = false;  // separated: workspaces can be mounted with mapped ids
  struct CgroupId {
    uint64_t device, inode;
  };
  std::optional<CgroupId> jails_cgroup;  // the parent directory of the jails' leaves; empty: no cgroups

  uint32_t init_id() const { return separated ? ids.init() : daemon_uid; }
};

struct OrderVerdict {
  // 0: carry it out. EINVAL: malformed. EPERM: refused. ENOSPC: too many jails. ESRCH: the jail is gone.
  int error = 0;
  const char* why = "";        // the check that refuses the order, in words
  LivingJail* jail = nullptr;  // attach, end, count: the jail in the table; nullptr: to end a fork outside the table
  uint32_t runner_id = 0;      // lower_priority: the host id of the jail's code
  Role role = Role::jail;      // build: the role in the plan
  explicit operator bool() const { return error == 0; }
};

class OrderCheck {
 public:
  OrderCheck(OrderRules rules, AllowedFolders folders)
      : rules_(std::move(rules)), folders_(std::move(folders)), jails_(rules_.init_id()) {}

  // `fds`: the descriptors of the order; the first one of an `attach` may be moved away. An allowed attach counts as
  // done: a jail gets one workspace.
  OrderVerdict judge(const Order& order, std::vector<Fd>& fds);
  // Call it after an allowed build succeeded. Returns the jail's pidfd, borrowed until the next order.
  int add_jail(int pid, Fd pidfd, uint32_t runner_id, Role role);

  const OrderRules& rules() const { return rules_; }

 private:
  OrderVerdict judge_build(const Order& order, const std::vector<Fd>& fds);
  OrderVerdict judge_attach(const Order& order, std::vector<Fd>& fds);
  OrderVerdict judge_end(std::vector<Fd>& fds);
  OrderVerdict judge_priority(const Order& order, const std::vector<Fd>& fds);
  OrderVerdict judge_probe(const Order& order, const std::vector<Fd>& fds) const;
  OrderVerdict judge_project(const Order& order, const std::vector<Fd>& fds) const;
  OrderVerdict judge_count(const std::vector<Fd>& fds);
  OrderVerdict judge_owner(const Order& order) const;

  OrderRules rules_;
  AllowedFolders folders_;
  LivingJails jails_;
};

// Judges the ids that a build asks for. Pure.
OrderVerdict judge_ids(const OrderRules& rules, const Order& order);

}  // namespace jail
