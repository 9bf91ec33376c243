// RuleKeeper: the policies, tool definitions and skills that an authority has signed for all nodes. Files that `warder
// cluster sign` wrote beside the trust record of this machine go into the bucket `rules`; rules of the bucket that are
// newer than those of this node are stored (RuleStore). A damaged or older value in the bucket is replaced by this
// node's, at most once a minute each. Used by: node_service.h.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "supervisor/base/clock.h"
#include "supervisor/base/loop.h"
#include "supervisor/cluster/bus/bus.h"
#include "supervisor/cluster/node/bucket_follower.h"
#include "supervisor/cluster/node/rule_work.h"

namespace cluster {

class RuleKeeper {
 public:
  // `folder`: of the files of `warder cluster`. `changed` is called when rules of this node have changed. References
  // must outlive the object.
  RuleKeeper(Loop& loop, Bus& bus, int replicas, std::string folder, RuleWork& rules, std::function<void()> changed);
  void begin();

 private:
  using Bucket = std::shared_ptr<KvBucket>;
  // The result of a text for the rules.
  struct RuleOfferResult {
    RuleKey key;             // of the text; empty: it is no rule
    bool is_new = false;     // it is in force now
    bool is_behind = false;  // it is older than this node's rule, or no rule at all
    std::string refused;     // the reason, if it is not in force
  };
  Task<> follow_files();
  Task<> examine_files(std::map<std::string, std::string>& seen);
  Task<> follow_bus();
  Task<> take(Bucket bucket, KvChange change);
  Task<> take_rule(Bucket bucket, KvChange change);
  Task<> replace(Bucket bucket, std::string key);
  Task<> put(Bucket bucket, std::map<RuleKey, std::string> texts);
  Task<> requeue();
  Task<std::shared_ptr<RuleOfferResult>> offer(std::string text);
  Task<std::map<RuleKey, std::string>> own_rules();

  Loop& loop_;
  Bus& bus_;
  const int replicas_;
  const std::string folder_;
  RuleWork& rules_;
  std::function<void()> changed_;
  std::map<std::string, Monotonic::time_point> replaced_;  // by key of the bucket: when its value was replaced
  std::string files_problem_;                              // why the last look at the files failed; empty: it did not
  std::set<RuleKey> unput_;                                // rules that could not be put on the bus
  Bucket bucket_;                                          // nullptr: not open
  std::set<std::string> bucket_has_;                       // its keys, until all are known
  bool is_complete_ = false;                               // all values of the bucket are known
  Scope tasks_;                                            // last: cancelled first
};

}  // namespace cluster
