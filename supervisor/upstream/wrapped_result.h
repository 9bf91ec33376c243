// Results that a server's library has wrapped: structuredContent must be an object, so a function that returns a
// number, a text or a list answers {"result": 3}. Code wants the 3. Sources: FastMCP marks such an output schema with
// "x-fastmcp-wrap-result" and such a result with _meta.fastmcp.wrap_result; the official Python SDK names the schema of
// the function "add" "addOutput" and its only property "Result". A model of the server's own may have such a property,
// too: without the function's name nothing is unwrapped.
#pragma once
#include <string_view>

#include "supervisor/base/json_value.h"

namespace upstream {

// The schema of the value inside; nullptr: results of this schema are not wrapped. Points into `output_schema`.
const Json* wrapped_schema(std::string_view tool, const Json& output_schema);
// `structured` without its wrapping, if it has one. `result`: the whole answer to tools/call.
Json unwrapped(Json structured, const Json& result, std::string_view tool, const Json& output_schema);

}  // namespace upstream
