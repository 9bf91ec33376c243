// HeldHomes: the homes that a node holds: for which workspaces it may start and write, by its lease and by each home's
// epoch. Pure, without I/O. Source: the bucket `homes`. Used by: warder-node, for each order and each local request.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "policies/tenant_id.h"
#include "supervisor/cluster/placement/lease.h"

namespace cluster {

// The record of one home in the bucket. Written only by compare-and-set.
struct HomeRecord {
  std::string node;
  uint64_t epoch = 0;   // 1 for the first home; grows by 1 with each change
  std::string of = {};  // the workspace, TenantId::text(), where the bucket's key does not tell it; else empty

  bool operator==(const HomeRecord& other) const { return node == other.node && epoch == other.epoch; }
};

// The record to write in order to take a home over from its present node: `taker`, with the next epoch. `watch` follows
// the lease of the present node. Empty: that lease may still hold, or the home is the taker's already. Two takers
// compute the same epoch; the compare-and-set lets one taker write, and the other reads again and watches the lease of
// the new node.
std::optional<HomeRecord> adopted(const HomeRecord& present, const std::string& taker, const LeaseWatch& watch,
                                  BootClock::time_point now);

enum class HomeState {
  usable,   // starts and writes are allowed
  fenced,   // no starts and no writes; a confirmation may make it usable again
  ended,    // the same, and what runs for this home must be ended
  lost,     // another node has the home: as ended, and it stays so until this node takes it with a higher epoch
  unknown,  // never held by this start of the daemon
};

class HeldHomes {
 public:
  // `lease` must outlive the object. `self` is the node's own name.
  HeldHomes(const NodeLease& lease, std::string self) : lease_(lease), self_(std::move(self)) {}

  HomeState state(const tenants::TenantId& workspace, BootClock::time_point now) const;

  // The record of a home as it was read, or written by this node. `period` is NodeLease::period() from before the read
  // or the write was sent: an answer from before the lease ended does not cover the time after. A home of another node
  // becomes lost; one of this node becomes usable, except with an epoch older than a known one.
  // A higher epoch of this node is a new take, if this start of the daemon wrote the record (taken). Otherwise the
  // home changed hands in between, and the files here are out of date: lost. (After a take without an answer
  // the record is read again; if it is exactly as written, the take was made.)
  enum class RecordSource { read, claimed };
  void confirm(const tenants::TenantId& workspace, const HomeRecord& record, uint64_t period, RecordSource source);
  // The homes for which `is_gone` returns true are no longer held: their records were removed. Looks at all homes.
  void forget_if(const std::function<bool(const tenants::TenantId& workspace)>& is_gone);

 private:
  struct Home {
    uint64_t epoch = 0;
    uint64_t period = 0;  // of the lease, in which the epoch was confirmed
    bool is_lost = false;
  };

  const NodeLease& lease_;
  std::string self_;
  std::map<tenants::TenantId, Home> homes_;
};

}  // namespace cluster
