// What answers to methods are made of: the members of a result, or the error that goes on the wire instead.
// Used by the files that answer (server, prompts, resources, completions).
#pragma once
#include <string>
#include <tl/expected.hpp>

#include "supervisor/base/json_value.h"
#include "supervisor/base/result.h"
#include "supervisor/mcp/jsonrpc.h"
#include "supervisor/mcp/protocol.h"

namespace mcp {

using Answer = tl::expected<std::string, RpcError>;  // the members of the result

inline auto refuse(ErrorCode code, std::string message, Json data = {}) {
  return tl::unexpected(RpcError{code, std::move(message), std::move(data)});
}
// A failure of a handler that has no other words for it.
RpcError rpc_error(const Error& error);
RpcError bad_cursor();

// Errors: invalid_params, "Invalid params: `shown` must be a string".
tl::expected<std::string, RpcError> string_in(const Json& object, const char* key, const char* shown);
// params.cursor; empty for the first page. Errors: invalid_params.
tl::expected<std::string, RpcError> cursor_in(const Json& params);
// params.arguments as an object, {} when absent. Errors: invalid_params.
tl::expected<Json, RpcError> arguments_in(Json& params);

// What may be kept of an answer that several sources made.
Caching stricter(Caching a, Caching b);

}  // namespace mcp
