// JetStreamWatch: the watch of a bucket, by a consumer that sends the last message of each key, then new ones. The
// server numbers what it sends. After a gap, a silence or a reconnect, a new consumer continues with the last message
// that came. If the server does not have this message any more, a consumer sends all keys again, and the watch returns
// what differs: so neither a dropped message nor a lost bucket leaves a wrong value behind. A bucket that the server
// lost is made again. Used by: JetStreamBucket. Errors: see bus.h.
#pragma once
#include "supervisor/cluster/bus/nats_core.h"

namespace cluster {

struct WatchedBucket {
  std::string name;
  std::string filter;    // valid
  size_t max_bytes = 0;  // BucketSettings::max_watched_bytes
  std::string settings;  // the JSON that creates its stream
};
// The watch tries for ever to reach the bucket.
std::unique_ptr<KvWatch> watch_jetstream_bucket(std::shared_ptr<NatsCore> core, WatchedBucket bucket);

}  // namespace cluster
