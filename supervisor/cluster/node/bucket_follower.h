// follow_bucket(): opens a bucket of the bus, and passes on its entries and its changes, for ever: a bucket that
// cannot be opened, or whose watch has ended, is opened again after a second. Used by: home_directory.h,
// node_directory.h, rule_keeper.h, trust_keeper.h. No errors.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "supervisor/base/loop.h"
#include "supervisor/cluster/bus/bus.h"

namespace cluster {

struct BucketReader {
  std::string name;
  BucketSettings settings;
  // Called with each opened bucket, before its changes. It is open as long as a pointer to it exists.
  std::function<void(std::shared_ptr<KvBucket> bucket)> opened;
  // Takes a change; the next one follows when it has ended.
  std::function<Task<>(KvChange change)> take;
};
// Loop, bus, and what the functions use must outlive the task.
Task<> follow_bucket(Loop& loop, Bus& bus, BucketReader reader);

}  // namespace cluster
