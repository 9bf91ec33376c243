// Checks a tool's arguments against its input schema, so that handlers see only what they declared.
// The schema is flat, as portable tool schemas are: `type` (a name or a list), `enum`, `minimum`, `maximum`,
// `minLength`, `maxLength`, `maxItems`, `items.type`, `required`, `additionalProperties`. Other keywords are the
// handler's business. Stricter than JSON Schema in one thing: an argument that `properties` does not name is refused
// unless `additionalProperties` allows it, since saying false in each definition would cost every agent its tokens.
#pragma once
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace mcp {

// What is wrong, in words for the model, naming each argument (the first five of them); nothing when all is well.
//   "argument 'memory_mb': 9000 is above the maximum of 4096"
//   "argument 'timeout': unknown; this tool takes code, language"
std::optional<std::string> find_problems(const nlohmann::ordered_json& schema, const nlohmann::json& arguments);

// Takes out optional arguments that are null: many clients send what they leave out so. A null that the schema allows
// stays, as does that of a required argument, which then is wrong.
void drop_absent(const nlohmann::ordered_json& schema, nlohmann::json& arguments);

}  // namespace mcp
