// JetStream's interface by messages: questions and answers in JSON (docs.nats.io, "JetStream wire API"). libnats's own
// functions for it wait for their answers; these do not.
// Source of the answers: the server, which is checked as all input from the network. Used by: JetStreamBucket,
// JetStreamWatch. Errors: unavailable (no answer, no leader, refused), internal (the answer is not JSON).
#pragma once
#include "supervisor/base/json/json_value.h"
#include "supervisor/cluster/bus/nats_core.h"

namespace cluster {

struct JetStreamAnswer {
  Json object;             // always an object
  int64_t error_code = 0;  // JetStream's err_code; 0: no error
  std::string error_text;
};

constexpr int64_t kNoSuchMessage = 10'037;
constexpr int64_t kStreamNameInUse = 10'058;
constexpr int64_t kStreamNotFound = 10'059;

// Sends a message that JetStream answers. `action` names it in errors.
Task<Result<JetStreamAnswer>> ask_jetstream(std::shared_ptr<NatsCore> core, OutgoingMessage question,
                                            std::string action, std::chrono::milliseconds limit);
// A question to an interface: "STREAM.INFO.KV_homes".
OutgoingMessage jetstream_question(std::string_view interface, const Json& body);
// True: the write expected another revision.
bool is_revision_conflict(const JetStreamAnswer& answer);
// The Error for an answer with an error code.
tl::unexpected<Error> jetstream_error(std::string_view action, const JetStreamAnswer& answer);

// The names of a bucket's parts.
std::string stream_of(std::string_view bucket);                                 // KV_homes
std::string subject_of(std::string_view bucket, std::string_view key);          // $KV.homes.acme._
Result<std::string> key_of(std::string_view bucket, std::string_view subject);  // Errors: internal, not of the bucket

}  // namespace cluster
