// Answer: the answer to one method, as the members of a result or as an error for the wire. Also helpers that read
// params. Used by the files that answer methods (server, prompts, resources, completions).
#pragma once
#include <string>
#include <tl/expected.hpp>

#include "supervisor/base/json/json_value.h"
#include "supervisor/base/result.h"
#include "supervisor/protocol/mcp/jsonrpc.h"
#include "supervisor/protocol/mcp/protocol.h"

namespace mcp {

using Answer = tl::expected<std::string, RpcError>;  // the members of the result

inline auto refuse(ErrorCode code, std::string message, Json data = {}) {
  return tl::unexpected(RpcError{code, std::move(message), std::move(data)});
}
// The wire form of a handler's Error: invalid and not_found become invalid_params, other codes internal_error.
RpcError rpc_error(const Error& error);
RpcError bad_cursor();

// Errors: invalid_params, "Invalid params: `shown_as` must be a string".
tl::expected<std::string, RpcError> string_in(const Json& object, const char* key, const char* shown_as);
// params.cursor; empty for the first page. Errors: invalid_params.
tl::expected<std::string, RpcError> cursor_in(const Json& params);
// params.arguments as an object, {} when absent. Errors: invalid_params.
tl::expected<Json, RpcError> arguments_in(Json& params);

// The caching of an answer that several sources made: the shorter time and the narrower scope.
Caching stricter(Caching a, Caching b);

}  // namespace mcp
