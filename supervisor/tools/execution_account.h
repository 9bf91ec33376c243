// What the journal keeps of one execution, as a client reads it: the resource exec:///<execution_id>/stats.
#pragma once
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "supervisor/journal/journal.h"

namespace tools {

// The execution of exec:///<execution_id>/stats; nothing for any other URI.
std::optional<std::string> account_of_uri(std::string_view uri);

// {execution_id, language, policy, started, outcome, code_bytes, usage, answer_ms, context}; `running`, and no more
// than is known, until it ends.
nlohmann::ordered_json describe(const journal::Account& account);

// {bytes, tokens_estimated}: bytes are counted, tokens are made of them, and say so.
nlohmann::ordered_json bytes_and_tokens(uint64_t bytes);

// Its text. Errors: not_found.
Task<Result<std::string>> read_account(journal::Journal& journal, std::string tenant, std::string execution);

}  // namespace tools
