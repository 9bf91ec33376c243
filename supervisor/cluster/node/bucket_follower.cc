#include "supervisor/cluster/node/bucket_follower.h"

#include <utility>

namespace cluster {
namespace {

using namespace std::chrono_literals;

constexpr auto kOperationLimit = 2s;  // on the bucket
constexpr auto kReopenDelay = 1s;

Task<> read_changes(KvBucket& bucket, const BucketReader& reader) {
  auto watch = bucket.watch(">");
  while (watch) {
    auto change = co_await (*watch)->next();
    if (!change) co_return;
    co_await reader.take(*std::move(change));
  }
}

}  // namespace

Task<> follow_bucket(Loop& loop, Bus& bus, BucketReader reader) {
  for (;;) {
    auto opened = co_await bus.open_bucket(reader.name, reader.settings, kOperationLimit);
    if (opened) {
      const std::shared_ptr<KvBucket> bucket = *std::move(opened);
      reader.opened(bucket);
      co_await read_changes(*bucket, reader);
    }
    co_await sleep_for(loop, kReopenDelay);
  }
}

}  // namespace cluster
