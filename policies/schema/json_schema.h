// JsonSchema: a compiled JSON Schema that checks values. Dialect 2020-12, and older spellings of the same
// (`definitions`, `items` as a list with `additionalItems`, `dependencies`).
// Source: policies (conditions on arguments) and the inputSchema of upstream servers' tools. Both may be cyclic, huge
// or made to be slow: depth, work and size are bounded, patterns run in RE2, and no schema is fetched.
//   assertions: type enum const, all of numbers, strings, lists and objects, uniqueItems, contains, dependent*,
//     propertyNames, allOf anyOf oneOf not, if then else, unevaluated*, $ref $id $anchor $dynamicRef $defs
//   ignored: format, content*, and other annotations; vocabularies; schemas outside of the document
// Specification: json-schema.org/draft/2020-12, core and validation.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "supervisor/base/json_value.h"
#include "supervisor/base/result.h"

namespace policies {

class JsonSchema {
 public:
  // For parts that cannot be checked exactly (a pattern that RE2 does not support, a reference to another document).
  // refuse: an error. let_pass: every value fits, and unchecked() names the part.
  enum class Unknown { refuse, let_pass };
  static constexpr size_t kMaxSchemas = 20'000;  // in one document
  static constexpr size_t kMaxBytes = 1 << 20;   // bytes of the document
  static constexpr int kMaxDepth = 128;          // of nested schemas; a reference counts as a level
  static constexpr uint64_t kMaxWork = 1'000'000;

  // Errors: invalid, naming the place in the schema: "#/properties/a: type: "text" is no type".
  static Result<std::shared_ptr<const JsonSchema>> compile(const Json& schema, Unknown unknown);
  ~JsonSchema();

  // Errors: invalid, naming place and reason: "/labels/0: 3 is not a string"; exhausted: the check would take too long.
  Result<> check(const Json& value) const;
  const std::vector<std::string>& unchecked() const { return unchecked_; }

 private:
  friend class SchemaCompiler;
  friend class SchemaCheck;
  struct Parts;  // compiled patterns and the targets of references, by their place in the document
  JsonSchema();
  Json document_;
  std::unique_ptr<Parts> parts_;
  std::vector<std::string> unchecked_;
};

}  // namespace policies
