// Execution account: the journal's numbers about one execution, as the resource exec:///<execution_id>/stats.
// Source: journal::Journal. Used by: the resources of workspace_tools.h, get_execution_stats. Errors: not_found, and
// invalid for a malformed id.
#pragma once
#include <string>

#include "supervisor/base/json/json_value.h"
#include "supervisor/records/journal/journal.h"

namespace tools {

// {execution_id, language, policy, started, outcome, code_bytes, usage, answer_ms, context}; Until the execution
// ends, the outcome is `running`, and the keys behind code_bytes are missing.
Json describe(const journal::JournaledExecution& account);

// {bytes, tokens_estimated}: bytes are counted; tokens are estimated from the form of the text.
Json bytes_and_tokens(uint64_t bytes, uint64_t tokens);

// The account of one execution as JSON text. `journal` must outlive the task. Errors: invalid, not_found.
Task<Result<std::string>> read_account(journal::Journal& journal, std::string tenant, std::string execution);

}  // namespace tools
