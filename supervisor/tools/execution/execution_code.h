// Execution code: the code that an execution ran, as the resource exec:///<execution_id>/code, for its own tenant.
// Source: executions::RecentCode, which has it until newer code takes its place or the daemon ends. Used by: the
// resources of workspace_tools.h; `warder skill from` reads it. Errors: not_found, and invalid for a malformed id.
#pragma once
#include <string>

#include "supervisor/base/result.h"
#include "supervisor/executions/recent_code.h"

namespace tools {

// {execution_id, language, code_hash, code} as JSON text; `code_hash` is the SHA-256 of the code, as load_skill has it.
Result<std::string> read_code(const executions::RecentCode& recent, const std::string& tenant,
                              const std::string& execution);

}  // namespace tools
