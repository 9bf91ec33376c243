// LeaseKeeper: renews the lease of this node in the bucket `leases` ({"boot", "number"} at the node's name), and tells
// how long it lasts. Another start of a warder-node with the same name takes the lease away: then this one acts as no
// home any more, until it is started again.
// Used by: node_service.h. No errors: a renewal that fails is tried again (NodeLease).
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "supervisor/base/loop.h"
#include "supervisor/cluster/bus/bus.h"
#include "supervisor/cluster/placement/lease.h"

namespace cluster {

class LeaseKeeper {
 public:
  // Loop and bus must outlive the object. `renewed` is called with the time that the lease counts from.
  LeaseKeeper(Loop& loop, Bus& bus, std::string node, std::string boot, int replicas, LeaseTimes times,
              std::function<void(BootClock::time_point since)> renewed);
  void begin() { tasks_.spawn(renew()); }
  const NodeLease& lease() const { return lease_; }

 private:
  Task<> renew();
  Task<bool> write(uint64_t number);
  Task<bool> read_revision();

  Loop& loop_;
  Bus& bus_;
  const std::string node_, boot_;
  const int replicas_;
  const std::function<void(BootClock::time_point)> renewed_;
  NodeLease lease_;
  std::unique_ptr<KvBucket> bucket_;
  std::optional<uint64_t> revision_;  // of this node's value; nullopt: not known, or there is none
  bool has_written_ = false;          // this start has written the value
  Scope tasks_;                       // last: cancelled first
};

}  // namespace cluster
