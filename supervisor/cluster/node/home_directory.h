// HomeDirectory: which node is the home of each workspace, by the bucket `homes` ({"node", "epoch"} at the workspace's
// key). A workspace without a home gets one with its first request: the compare-and-set of the bucket decides between
// nodes that choose at the same time. Records that the server of the bus has lost are put back (home_memory.h). The
// epoch of a home never goes back: a record with a lower one is replaced by the known one.
// Used by: node_service.h. Errors: unavailable: the cluster cannot be reached, or no node may be a home.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "supervisor/base/loop.h"
#include "supervisor/cluster/bus/bus.h"
#include "supervisor/cluster/link/view_messages.h"
#include "supervisor/cluster/node/bucket_follower.h"
#include "supervisor/cluster/node/home_memory.h"
#include "supervisor/cluster/node/node_directory.h"
#include "supervisor/cluster/placement/homes.h"
#include "supervisor/cluster/placement/place.h"

namespace cluster {

// The value at a workspace's key. "of" has the workspace's name where the key is a hash.
std::string write_home_record(HomeRecord home, const tenants::TenantId& id);

class HomeDirectory {
 public:
  // References must outlive the object. `moved` is called when a home has changed.
  HomeDirectory(Loop& loop, Bus& bus, const NodeSettings& settings, const NodeDirectory& nodes, const NodeLease& lease,
                std::function<void()> moved);
  // Errors: those of HomeMemory::open().
  Result<> begin();

  // For tests: all homes that the bus has are known, so find() can answer.
  bool is_current() const { return is_current_; }

  struct HomeLookup {
    HomeRecord record;
    bool is_here = false;  // this node is the home, and may act as such while its lease lasts
  };
  Task<Result<HomeLookup>> find(tenants::TenantId id);
  // Removes the records of an account's workspaces whose home is this node: their files are being removed. At most
  // kMaxForgotten at a time. Errors: unavailable.
  static constexpr size_t kMaxForgotten = 200;
  Task<Result<ForgottenHomes>> forget(std::string account);
  const std::map<std::string, HomeRecord>& records() const { return records_; }  // by key
  const HomeCounts& counts() const { return counts_; }

  // Changes of homes (home_orders.h), and the check of a workspace that another node sends: that it is the home now, in
  // this epoch, and that this node may have the account. Errors: denied: it was not done; unavailable: not known.
  // after_lease: first waits until the lease of the present home has ended.
  enum class Claim { now, after_lease };
  Task<Result<HomeLookup>> claim(tenants::TenantId id, HomeRecord expected, Claim how);
  Task<Result<HomeLookup>> fence(tenants::TenantId id, uint64_t epoch);
  // The home of a workspace before a restore from a file: a missing record is made for this node. Errors also:
  // denied: the home is alive.
  Task<Result<HomeLookup>> find_lost(tenants::TenantId id);
  Task<Result<>> check_push(tenants::TenantId id, std::string from, uint64_t epoch);
  // Another node for the workspace. Errors: unavailable, with the number of nodes for each reason.
  Result<std::string> other_node(const tenants::TenantId& id) const;
  // The homes of this node behind `after`, in the order of the keys; after an empty account: the first ones.
  std::vector<std::pair<tenants::TenantId, HomeRecord>> held_after(const tenants::TenantId& after, size_t max) const;

 private:
  Task<Result<HomeRecord>> read_present(std::string key);
  Task<Result<HomeRecord>> change(tenants::TenantId id, HomeRecord expected, HomeRecord next);
  Task<Result<HomeRecord>> take_after_lease(HomeRecord present);
  // The workspace of a key. nullopt: its name is only in the value, and was not read.
  std::optional<tenants::TenantId> name_of(const std::string& key) const;
  void note_name(const std::string& key, const tenants::TenantId& id);
  Task<> follow();
  void take(const KvChange& change);
  void take_current();
  void put_back(const std::string& key);
  Task<> put_back_some();
  Task<bool> put_back_entry(std::shared_ptr<KvBucket> bucket, std::string key);
  void set_record(const std::string& key, const HomeRecord& record);
  void remove_record(const std::string& key);
  Task<Result<HomeRecord>> choose(std::shared_ptr<KvBucket> bucket, tenants::TenantId id, std::string key);
  // The nodes that may have the account.
  NodeTable nodes_for(const std::string& account) const;
  size_t homes_of(const std::string& account) const;

  Loop& loop_;
  Bus& bus_;
  const NodeSettings& settings_;
  const NodeDirectory& nodes_;
  const NodeLease& lease_;
  const std::function<void()> moved_;
  std::shared_ptr<KvBucket> bucket_;  // nullptr: not open yet
  HomeMemory::Records records_;       // by key
  std::set<std::string> unseen_;      // keys of records_ that the bucket did not show yet
  // Keys of records_ that the bucket has lost, of this node and of others.
  std::set<std::string> lost_own_, lost_;
  size_t putting_back_ = 0, put_back_count_ = 0;         // tasks; records since there was none
  std::unique_ptr<HomeMemory> memory_;                   // set by begin()
  std::map<std::string, tenants::TenantId> long_names_;  // of keys that are hashes
  HomeCounts counts_;                                    // of records_, by node
  bool is_current_ = false;                              // records_ has all that existed
  HeldHomes homes_;
  Scope tasks_;  // last: cancelled first
};

}  // namespace cluster
