// RequestId, Message and RpcError: JSON-RPC 2.0 envelopes (https://www.jsonrpc.org/specification), as MCP narrows them:
// ids are strings or integers, params are an object. Integers written as 1.0 or 1e3, and "params": null, are accepted,
// too. Source: a line from a client, which is hostile. Used by: Conversation. Errors carry the code for the wire.
#pragma once
#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "supervisor/base/json/json_value.h"
#include "supervisor/base/json/value_bytes.h"

namespace mcp {

// A request id or progress token, as its JSON text ("7", "\"abc\""): it is sent back exactly as it came.
// Numbers are equal when their values are equal: 1.0 is 1.
struct RequestId {
  std::string wire;
  friend bool operator==(const RequestId& a, const RequestId& b) { return (a <=> b) == 0; }
  friend std::strong_ordering operator<=>(const RequestId& a, const RequestId& b) {
    return a.is_plain() && b.is_plain() ? a.wire <=> b.wire : a.meaning() <=> b.meaning();
  }
  // nullopt for fractions, null, integers beyond 64 bits (beyond 53 bits if written as 1e3) and strings over 1 KiB.
  static std::optional<RequestId> from(const Json& value);
  // The same for JSON text. A number keeps its spelling.
  static std::optional<RequestId> from_text(std::string_view raw);

 private:
  bool is_plain() const;  // neither 1.0 nor 1e3
  std::string meaning() const;
};

// Error codes of JSON-RPC and MCP. Warder defines no code; a code of Warder would be outside the reserved ranges.
enum class ErrorCode : int {
  parse_error = -32700,
  invalid_request = -32600,
  method_not_found = -32601,
  invalid_params = -32602,
  internal_error = -32603,
  resource_not_found = -32002,           // before 2026-07-28 only
  header_mismatch = -32020,              // since 2026-07-28, over HTTP
  missing_client_capability = -32021,    // since 2026-07-28
  unsupported_protocol_version = -32022  // since 2026-07-28
};

struct RpcError {
  ErrorCode code = ErrorCode::internal_error;
  std::string message;
  Json data;  // null: left out
};

struct Message {
  enum class Kind { request, notification, response };
  Kind kind = Kind::request;
  RequestId id;  // of requests and responses
  std::string method;
  Json params = Json::object();
  Json result;  // of responses; null: an error
  Json& content() { return kind == Kind::response ? result : params; }
};

// Why a message was refused, and the id of the request where it could be read.
struct Refusal {
  std::optional<RequestId> id;
  RpcError error;
};

// Parses one line as JSON. Errors: parse_error; invalid_request for nesting beyond 64, or if the values would take more
// than `max_bytes` of memory. An error names the request where its id is certain (EnvelopeScan).
tl::expected<Json, Refusal> parse_line(std::string_view line, size_t max_bytes = kMaxValueBytes);
// Reads one envelope. `line` is its text, or empty for a message in an array. Errors: invalid_request.
tl::expected<Message, Refusal> read_message(Json&& value, std::string_view line = {});

// Whole lines, without the newline. `members` is the inside of the result object: "\"a\":1,\"b\":2".
// An unknown id is left out: "id":null violates MCP's schema and makes the official clients fail.
std::string result_line(const RequestId& id, std::string_view members);
std::string error_line(const std::optional<RequestId>& id, const RpcError& error);
// {code, message, data?}
std::string error_object(const RpcError& error);
std::string request_line(const RequestId& id, std::string_view method, std::string_view params_members);
std::string notification_line(std::string_view method, std::string_view params_members);

// Appends ,"key": (without the comma at the start of `members`).
void append_key(std::string& members, std::string_view key);
// Appends the key with a string as its value. append_optional() skips an empty value.
void append_member(std::string& members, std::string_view key, std::string_view value);
void append_optional(std::string& members, std::string_view key, std::string_view value);

}  // namespace mcp
