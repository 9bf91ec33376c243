// The result of a tool as text, for a file of the journal, and read back; also the result that another node sent. The
// text has the parts of a result on the wire, in the newest form.
// Used by: supervisor/executions/runs/named_execution.cc, supervisor/cluster/. Errors: invalid, it has another form.
#pragma once
#include <string>
#include <string_view>

#include "supervisor/base/json/json_fwd.h"
#include "supervisor/base/result.h"
#include "supervisor/protocol/mcp/content.h"

namespace mcp {

std::string write_result(const ToolResult& result);
// Both use only their argument, so they may run on any thread.
Result<ToolResult> read_result_text(std::string_view text);
Result<ToolResult> read_result(const Json& written);

}  // namespace mcp
