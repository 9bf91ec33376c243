// The tool call_tool, for agents and for jailed code: one call of an upstream server's tool (calls/upstream_call.h).
//   agents: call_tool(name, arguments?, select?) -> {result}, pictures as pictures
//   code:   call_tool {server?, name, arguments?} -> {value} or {failure: {code, message, data?}}
// Used by: supervisor/daemon/.
// Errors: those of call_upstream(), and exhausted: too many calls of one execution, or too large a result.
#pragma once
#include "supervisor/tools/operation.h"
#include "supervisor/upstream/calls/upstream_call.h"

namespace tools {

void add_call_tool(const OperationRegistry& registry, calls::CallEnvironment& environment);

mcp::ToolDefinition call_tool_definition();

}  // namespace tools
