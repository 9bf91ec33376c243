// Envelope: the parts of one JSON-RPC line that the stdio proxy needs, found without building the JSON. A line may hold
// megabytes of output, and the proxy must add almost no time to a call.
// Source: lines of the client and of warderd. Used by: relay.cc, offline.cc.
// No function fails: a line that cannot be read has the kind `unreadable`. All views point into the line.
#pragma once
#include <functional>
#include <string>
#include <string_view>

namespace cli {

inline constexpr std::string_view kMetaVersion = "io.modelcontextprotocol/protocolVersion";
inline constexpr std::string_view kMetaSubscription = "io.modelcontextprotocol/subscriptionId";

enum class MessageKind { unreadable, request, notification, response };

struct Envelope {
  MessageKind kind = MessageKind::unreadable;
  std::string_view id;            // raw JSON, `7` or `"a"`; empty: the line has no id
  std::string_view method;        // between its quotes
  std::string_view result;        // raw JSON; only from Scan::whole
  std::string_view request_id;    // params.requestId, raw: the request that notifications/cancelled ends
  std::string_view uri;           // params.uri, between its quotes
  std::string_view version;       // params.protocolVersion of initialize
  std::string_view meta_version;  // params._meta: present in every request of 2026-07-28 and later
  std::string_view subscription;  // params._meta, raw: which subscription a notification belongs to

  bool modern() const { return !meta_version.empty(); }
};

// `head` stops as soon as the id and a result or error were seen; that is enough to pass an answer on.
enum class Scan { full, head };
Envelope scan(std::string_view line, Scan depth = Scan::full);

// Calls `each` with every message of a line: the elements of a batch (MCP 2025-03-26), or else the whole line. A broken
// or empty batch is passed as the whole line, and scan() finds it unreadable.
void for_each_message(std::string_view line, const std::function<void(std::string_view message)>& each);

// One spelling for equal ids: a client may write "\u0061" where the daemon answers "a".
std::string canonical_id(std::string_view raw);

// `line` with the id of its request replaced; `envelope` is scan(line).
std::string with_id(std::string_view line, const Envelope& envelope, std::string_view raw_id);

}  // namespace cli
