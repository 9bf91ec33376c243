// Checks a tool's arguments against its input schema, so that handlers see only what they declared.
// The schema is flat, as portable tool schemas are: `type` (a name or a list), `enum`, `minimum`, `maximum`,
// `minLength`, `maxLength`, `maxItems`, `items.type`, `required`, `additionalProperties`. Other keywords are the
// handler's business. Stricter than JSON Schema in one thing: an argument that `properties` does not name is refused
// unless `additionalProperties` allows it, since saying false in each definition would cost every agent its tokens.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/json_value.h"

namespace mcp {

// What is wrong, in words for the model, naming each argument (the first five of them); nothing when all is well.
//   "argument 'memory_mb': 9000 is above the maximum of 4096"
//   "argument 'timeout': unknown; did you mean timeout_seconds? This tool takes code, timeout_seconds"
std::optional<std::string> find_problems(const Json& schema, const Json& arguments);

// Takes out optional arguments that are null: many clients send what they leave out so. A null that the schema allows
// stays, as does that of a required argument, which then is wrong.
void drop_absent(const Json& schema, Json& arguments);

// Other words for the values of an argument's enum: {"language": {"py": "python"}}. Words are in small letters.
using Spellings = std::map<std::string, std::map<std::string, std::string, std::less<>>, std::less<>>;

// Takes values as they are meant where that is beyond doubt: a number, a boolean, an object or a list that came as its
// JSON text ("30"), and a value of an enum that came in other capitals or by another word. All else stays as it is.
// Returns at most how many bytes of memory the values take that were read from texts.
size_t take_as_meant(const Json& schema, const Spellings& spellings, Json& arguments);

// All of it, in this order. Touches nothing but its arguments: any thread may do it.
struct CheckedArguments {
  size_t bytes = 0;  // of take_as_meant()
  std::optional<std::string> problems;
};
CheckedArguments check_arguments(const Json& schema, const Spellings& spellings, Json& arguments);

// Of `names` the one that `name` is most like: one is the other's beginning or part, or they share a word of three
// letters or more ("run_code", "execute_code"); empty when none is.
std::string_view nearest_name(std::string_view name, const std::vector<std::string_view>& names);

}  // namespace mcp
