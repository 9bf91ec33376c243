// JSON-RPC 2.0 envelopes (https://www.jsonrpc.org/specification), as MCP narrows them: ids are strings or
// integers, params are an object.
// Source: a line from a client, which is hostile. Errors carry the code that goes on the wire.
#pragma once
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace mcp {

// A request id or progress token: its JSON text ("7", "\"abc\""), so that it goes back exactly as it means.
struct RequestId {
  std::string wire;
  friend bool operator==(const RequestId&, const RequestId&) = default;
  friend auto operator<=>(const RequestId&, const RequestId&) = default;
  // Nothing for floats, null, integers beyond 64 bits and strings over 1 KiB.
  static std::optional<RequestId> from(const nlohmann::json& value);
};

// Codes of JSON-RPC and MCP. Ours are outside the reserved ranges; none is needed so far.
enum class ErrorCode : int {
  parse_error = -32700,
  invalid_request = -32600,
  method_not_found = -32601,
  invalid_params = -32602,
  internal_error = -32603,
  resource_not_found = -32002,           // before 2026-07-28 only
  missing_client_capability = -32021,    // since 2026-07-28
  unsupported_protocol_version = -32022  // since 2026-07-28
};

struct RpcError {
  ErrorCode code = ErrorCode::internal_error;
  std::string message;
  nlohmann::ordered_json data;  // null: left out
};

struct Message {
  enum class Kind { request, notification, response };
  Kind kind = Kind::request;
  RequestId id;  // of requests and responses
  std::string method;
  nlohmann::json params = nlohmann::json::object();
  nlohmann::json result;  // of responses; null: an error
};

// Why a message was refused, and for whom where the id could be read.
struct Refusal {
  std::optional<RequestId> id;
  RpcError error;
};

// One line as JSON. Errors: parse_error; invalid_request for nesting beyond 64 or more than `max_values` values.
tl::expected<nlohmann::json, Refusal> parse_line(std::string_view line, size_t max_values = 200'000);
// One envelope. Errors: invalid_request.
tl::expected<Message, Refusal> read_message(nlohmann::json value);

// Whole lines, without the newline. `members` is the inside of the result object: "\"a\":1,\"b\":2".
// An unknown id is left out: "id":null violates MCP's schema and makes the official clients fail.
std::string result_line(const RequestId& id, std::string_view members);
std::string error_line(const std::optional<RequestId>& id, const RpcError& error);
std::string request_line(const RequestId& id, std::string_view method, std::string_view params_members);
std::string notification_line(std::string_view method, std::string_view params_members);

// Appends ,"key": (without the comma at the start of `members`).
void append_key(std::string& members, std::string_view key);

}  // namespace mcp
