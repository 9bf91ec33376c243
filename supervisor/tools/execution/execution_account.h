// What the journal keeps of one execution, as a client reads it: the resource exec:///<execution_id>/stats.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "supervisor/base/json_value.h"
#include "supervisor/journal/journal.h"

namespace tools {

// The execution of exec:///<execution_id>/stats; nothing for any other URI.
std::optional<std::string> account_of_uri(std::string_view uri);

// {execution_id, language, policy, started, outcome, code_bytes, usage, answer_ms, context}; `running`, and no more
// than is known, until it ends.
Json describe(const journal::JournaledExecution& account);

// {bytes, tokens_estimated}: bytes are counted, tokens told from the form of the text, and say so.
Json bytes_and_tokens(uint64_t bytes, uint64_t tokens);

// Its text. Errors: not_found.
Task<Result<std::string>> read_account(journal::Journal& journal, std::string tenant, std::string execution);

}  // namespace tools
