// JetStreamBucket: a bucket of NATS's key-value stores: the stream KV_<bucket> with the subjects $KV.<bucket>.<key>.
// Used by: NatsBus. Errors: see bus.h.
#pragma once
#include "supervisor/cluster/bus/nats_core.h"

namespace cluster {

// Creates the bucket if it is missing. An existing bucket keeps its settings. `name` is valid.
Task<Result<std::unique_ptr<KvBucket>>> open_jetstream_bucket(std::shared_ptr<NatsCore> core, std::string name,
                                                              BucketSettings settings, std::chrono::milliseconds limit);

}  // namespace cluster
