// JetStreamWatch: the watch of a bucket, by a consumer that sends the last message of each key, then new ones. The
// server numbers what it sends. After a gap, a silence or a reconnect, a new consumer sends all keys again, and the
// watch returns what differs: so neither a dropped message nor a lost bucket leaves a wrong value behind. Used by:
// JetStreamBucket. Errors: see bus.h.
#pragma once
#include "supervisor/cluster/bus/nats_core.h"

namespace cluster {

// `filter` is valid. The watch tries for ever to reach the bucket.
std::unique_ptr<KvWatch> watch_jetstream_bucket(std::shared_ptr<NatsCore> core, std::string bucket, std::string filter,
                                                size_t max_bytes);

}  // namespace cluster
