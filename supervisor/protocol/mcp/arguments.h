// check_arguments(): checks a tool's arguments against its input schema, so that handlers see only declared arguments.
// The schema is flat, as portable tool schemas are: `type` (a name or a list), `enum`, `minimum`, `maximum`,
// `minLength`, `maxLength`, `maxItems`, `items.type`, `required`, `additionalProperties`. Handlers check other keywords
// themselves. One rule is stricter than JSON Schema: an argument that `properties` does not name is refused unless
// `additionalProperties` allows it. Writing `false` into each definition would cost every agent tokens.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/json/json_value.h"

namespace mcp {

// Removes optional arguments that are null: many clients send null for an argument that they leave out. A null that
// the schema allows stays. The null of a required argument stays, too, and find_problems() then reports it.
void drop_absent(const Json& schema, Json& arguments);

// Other words for the values of an argument's enum: {"language": {"py": "python"}}. Words are in lower case.
// The entry "" has wrong names of arguments, each with the right name, or with a sentence that says what to do instead:
// {"": {"params": "context_vars"}}. These names are refused with it, not accepted.
using Spellings = std::map<std::string, std::map<std::string, std::string, std::less<>>, std::less<>>;

// The problems, in words for the model, one line for each argument; nullopt when there is no problem. Every missing
// argument is named. Other problems are added while fewer than five are listed.
//   "argument 'memory_mb': 9000 is above the maximum of 4096"
//   "argument 'timeout': unknown; did you mean timeout_seconds? This tool takes code, timeout_seconds"
std::optional<std::string> find_problems(const Json& schema, const Json& arguments, const Spellings& spellings = {});

// Converts values with a certain meaning: a number, a boolean, an object or a list that came as its JSON text ("30"),
// and a value of an enum that came in other capitals or by another word. Other values do not change.
// Returns an upper bound for the bytes of memory that the converted values take.
size_t accept_intended(const Json& schema, const Spellings& spellings, Json& arguments);

// Removes arguments that the host n8n adds to each call (toolCallId, chatInput, and with them sessionId and action), if
// the schema does not name them: they are not the model's, and would make each call fail.
void drop_host_arguments(const Json& schema, Json& arguments);

// The result of check_arguments(), which runs drop_host_arguments(), drop_absent(), accept_intended() and
// find_problems() in this order. The function uses only its arguments, so any thread may call it.
struct CheckedArguments {
  size_t bytes = 0;  // returned by accept_intended()
  std::optional<std::string> problems;
};
CheckedArguments check_arguments(const Json& schema, const Spellings& spellings, Json& arguments);

// The most similar name in `names`; empty when no name is similar. Two names are similar if a word in one is the
// beginning of a word in the other, or equal to it, with three letters or more ("run_code", "execute_code").
std::string_view nearest_name(std::string_view name, const std::vector<std::string_view>& names);

}  // namespace mcp
