// TrustKeeper: brings newer trust records into force while warder-node runs: those of the bucket `trust` of the bus,
// and those that `warder cluster` writes on this machine. A newer one of this machine is put into the bucket. So a
// removed node is refused everywhere some seconds after `warder cluster remove`, if the machine of that command is a
// node, too. A record that this node refuses stays in the bucket, unless it is older than its own or damaged: then the
// own one is put in its place, at most once a minute. Used by: node_service.h.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "supervisor/base/clock.h"
#include "supervisor/base/loop.h"
#include "supervisor/cluster/bus/bus.h"
#include "supervisor/cluster/node/bucket_follower.h"
#include "supervisor/cluster/node/rule_work.h"

namespace cluster {

class TrustKeeper {
 public:
  static constexpr std::chrono::milliseconds kCheckInterval{2000};  // at the file of `warder cluster`
  // `anchor`: the file that `warder cluster` writes. `now`: has the record in force. `changed` is called
  // for each record that comes into force. `check_interval`: another value is for tests. References must outlive the
  // object.
  TrustKeeper(Loop& loop, Bus& bus, int replicas, std::string anchor, const RuleStore& now, RuleWork& rules,
              std::function<void(const TrustRecord&)> changed,
              std::chrono::milliseconds check_interval = kCheckInterval);
  void begin();
  // Why the file of `warder cluster` is not in force; empty: it is, or an older one than the record in force.
  const std::string& trouble() const { return trouble_; }

 private:
  // The result of a text for the rules.
  struct TrustOfferResult {
    bool is_new = false;     // it is in force now
    bool is_behind = false;  // it is older than the record in force, or no record at all
    std::string refused;     // the reason, if it is not in force
    TrustRecord trust;       // in force
    std::string text;        // of it
  };
  Task<> follow_bus();
  Task<> follow_file();
  // The tasks share the bucket: it may be opened anew while they wait.
  using Bucket = std::shared_ptr<KvBucket>;
  Task<> take(Bucket bucket, KvChange change);
  Task<> take_record(Bucket bucket, std::string text);
  Task<> put_own(Bucket bucket);
  Task<std::shared_ptr<TrustOfferResult>> offer(std::string text);

  Loop& loop_;
  Bus& bus_;
  const int replicas_;
  const std::string anchor_;
  const std::chrono::milliseconds check_interval_;
  std::function<void(const TrustRecord&)> changed_;
  const std::string key_;             // in the bucket: the cluster's name
  std::string own_text_;              // of the record in force
  bool must_put_ = true;              // the bucket may not have it
  bool has_record_ = false;           // the bucket has one, since it was opened
  Monotonic::time_point next_put_{};  // of a record that replaces another one
  RuleWork& rules_;
  Bucket bucket_;
  std::string trouble_;
  Scope tasks_;  // last: cancelled first
};

}  // namespace cluster
