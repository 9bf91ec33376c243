// Wrapped results: structuredContent must be an object, so the library of a server wraps a number, a text or a list
// that a function returns: {"result": 3}. Code wants the 3.
// Sources: FastMCP marks the output schema with "x-fastmcp-wrap-result" and the result with _meta.fastmcp.wrap_result.
// The official Python SDK titles the schema of the function "add" "addOutput" and its only property "Result". A
// server's own model may have the same property: without the function's name in the title the result is not unwrapped.
// Used by: definitions.cc, result_value.cc.
#pragma once
#include <string_view>

#include "supervisor/base/json/json_value.h"

namespace upstream {

// The schema of the value inside; nullptr: results of this schema are not wrapped. Points into `output_schema`.
const Json* wrapped_schema(std::string_view tool, const Json& output_schema);
// `structured` without its wrapping, if it has one. `result`: the whole answer to tools/call. `output_schema`: nullptr:
// the tool declares none.
Json unwrapped(Json structured, const Json& result, std::string_view tool, const Json* output_schema);

}  // namespace upstream
