// KeptAnswer: the answer of a named execution as text, for the journal's file, and read back. The text has the parts of
// a result on the wire, in the newest form. Used by: named_execution.cc. Errors of read_kept_answer(): invalid, the
// text has another form.
#pragma once
#include <string>
#include <string_view>

#include "supervisor/base/result.h"
#include "supervisor/mcp/content.h"

namespace tools {

std::string write_kept_answer(const mcp::ToolResult& result);
// Uses only its argument, so it may run on any thread.
Result<mcp::ToolResult> read_kept_answer(std::string_view text);

}  // namespace tools
