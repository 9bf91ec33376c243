// IncomingJson: one JSON text of a client, parsed and measured: a message, or an array of messages.
// Source: a line of a connection, or the body of an HTTP request. A large text is parsed and measured on a thread
// beside the loop. Used by: Conversation. Errors: those of parse_line().
#pragma once
#include <optional>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "supervisor/base/json/json_value.h"
#include "supervisor/protocol/mcp/jsonrpc.h"

namespace mcp {

// Facts about a message, computed where it was parsed.
struct MessageMeasure {
  size_t bytes = 0;              // memory that the message's values take
  std::optional<size_t> digest;  // digest_of() its params, if already computed
};

struct IncomingJson {
  tl::expected<Json, Refusal> value;
  // One for the message, or one for each message of an array; empty: all are small.
  std::vector<MessageMeasure> measures;
};

// How a text is read: on the loop, or beside it because it is long or its values are many.
struct ReadingPlan {
  bool beside = false;  // only if there is a thread
  size_t bytes = 0;     // memory that the values take, where it is known; 0: too little to count
};
ReadingPlan plan_reading(std::string_view text, bool has_thread);
// Parses a text on the loop. `bytes`: of its plan.
IncomingJson read_on_loop(std::string_view text, size_t bytes);

// Measures `value`, which was parsed from `text`. Uses only its arguments, so any thread may call it.
IncomingJson measure_json(std::string_view text, tl::expected<Json, Refusal> value);

// A hash over a request's params without the answers: equal for a call and for its repetition with answers. A client
// that forges an equal hash only deceives itself, because the first request continues: no secret is needed.
size_t digest_of(const Json& params);

}  // namespace mcp
