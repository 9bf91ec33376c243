// Type: a JSON Schema, reduced to the facts that a reader of a signature needs. Source: inputSchema and outputSchema of
// tools, written by others. Cyclic, huge or invalid parts become "any".
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/json/json_fwd.h"

namespace catalog {

struct Property;

struct Type {
  enum class Kind { any, null, boolean, integer, number, string, array, object, choice, either };
  Kind kind = Kind::any;
  std::vector<std::string> choices;  // choice: literals as JSON text
  std::vector<Type> parts;           // array: type of the items, if known; either: the alternatives
  std::vector<Property> properties;  // object: required ones first, in the order of "required", then by name
  bool open = false;                 // object: it takes members beside `properties`
  bool operator==(const Type&) const;
};

struct Property {
  enum class Need { required, optional };
  std::string name;
  Type type;
  Need need = Need::optional;
  std::string description;
  std::string standard;  // the default as JSON text; may be empty
  bool operator==(const Property&) const = default;
};

// Never fails. At most kMaxTypeDepth levels; "$ref" is followed within the schema only.
Type read_type(const Json& schema);
constexpr int kMaxTypeDepth = 6;
constexpr size_t kMaxTypes = 400;      // of one schema
constexpr size_t kMaxProperties = 64;  // of one object
constexpr size_t kMaxChoices = 24;

enum class Dialect { python, javascript };
// One line: str | None, list[{name: str, size?: int}], "open" | "closed"; or string | null, {name: string, ...}[].
// Beyond `depth` objects are dict or Object.
std::string type_text(const Type& type, Dialect dialect, int depth);

}  // namespace catalog
