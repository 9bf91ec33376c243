// OrderCheck: the jailer's judge. The daemon parses what strangers write, so an order is believed only as far as the
// jailer knows for itself, or was told before the daemon gave its privileges up: ids, folders, cgroup, its own jails.
// Used by: jail/jailer.cc, for every order before anything is done.
#pragma once
#include <optional>
#include <vector>

#include "jail/allowed_folders.h"
#include "jail/id_range.h"
#include "jail/living_jails.h"
#include "jail/orders.h"

namespace jail {

// What the jailer was told, and found out for itself.
struct OrderRules {
  bool separated = false;  // root's daemon: init, code and daemon have different host ids (Identity::separated)
  IdRange ids;             // separated: of jails
  uint32_t daemon_uid = 0, daemon_gid = 0;
  bool maps_mounts = false;  // separated: workspaces can be mounted with mapped ids
  struct CgroupId {
    uint64_t device, inode;
  };
  std::optional<CgroupId> jails_cgroup;  // the folder whose children are the jails' leaves; nothing: no cgroups

  uint32_t init_id() const { return separated ? ids.init() : daemon_uid; }
};

struct OrderVerdict {
  // 0: do it. EINVAL: its shape is wrong, EPERM: refused, ENOSPC: too many jails, ESRCH: the jail is gone.
  int error = 0;
  const char* why = "";        // the check that refuses it, in words
  LivingJail* jail = nullptr;  // attach, end: the jail that is meant; of an end also nullptr: the pidfd as it came
  Role role = Role::jail;      // build: what the plan makes
  explicit operator bool() const { return error == 0; }
};

class OrderCheck {
 public:
  OrderCheck(OrderRules rules, AllowedFolders folders)
      : rules_(std::move(rules)), folders_(std::move(folders)), jails_(rules_.init_id()) {}

  // `fds`: those that came with it; of an `attach` the first may be kept. An attach that is allowed counts as done: a
  // jail gets one.
  OrderVerdict judge(const Order& order, std::vector<Fd>& fds);
  // After a build that was allowed and succeeded. Borrowed: its pidfd, until the next order.
  int add_jail(int pid, Fd pidfd, uint32_t runner_id, Role role);

  const OrderRules& rules() const { return rules_; }

 private:
  OrderVerdict judge_build(const Order& order, const std::vector<Fd>& fds);
  OrderVerdict judge_attach(const Order& order, std::vector<Fd>& fds);
  OrderVerdict judge_end(std::vector<Fd>& fds);
  OrderVerdict judge_probe(const Order& order, const std::vector<Fd>& fds) const;
  OrderVerdict judge_project(const Order& order, const std::vector<Fd>& fds) const;
  OrderVerdict judge_owner(const Order& order) const;

  OrderRules rules_;
  AllowedFolders folders_;
  LivingJails jails_;
};

// The ids that a build may ask for. Pure.
OrderVerdict judge_ids(const OrderRules& rules, const Order& order);

}  // namespace jail
