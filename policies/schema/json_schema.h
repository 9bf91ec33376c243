// JsonSchema: a compiled JSON Schema, and whether a value fits it. Dialect 2020-12 (and what older ones write for the
// same: `definitions`, `items` as a list with `additionalItems`, `dependencies`).
// Source: policies (conditions on arguments) and the inputSchema of other people's tools. Both may be cyclic, huge or
// made to be slow: depth, work and size are bounded, patterns run in RE2, nothing is ever fetched.
//   assertions: type enum const, all of numbers, strings, lists and objects, uniqueItems, contains, dependent*,
//     propertyNames, allOf anyOf oneOf not, if then else, unevaluated*, $ref $id $anchor $dynamicRef $defs
//   not looked at: format, content*, and other annotations; vocabularies; schemas outside of the document
// Source: json-schema.org/draft/2020-12, core and validation.
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
  // What cannot be checked exactly (a pattern that RE2 has not, a reference that leads outside): refused, or taken as
  // "anything" and noted in unchecked().
  enum class Unknown { refuse, let_pass };
  static constexpr size_t kMaxSchemas = 20'000;  // in one document
  static constexpr size_t kMaxBytes = 1 << 20;   // of the document
  static constexpr int kMaxDepth = 128;          // of applied schemas, references counted
  static constexpr uint64_t kMaxWork = 1'000'000;

  // Errors: invalid, naming the place in the schema: "#/properties/a: type: "text" is no type".
  static Result<std::shared_ptr<const JsonSchema>> compile(const Json& schema, Unknown unknown);
  ~JsonSchema();

  // Errors: invalid, naming place and reason: "/labels/0: 3 is not a string"; exhausted: it would take too long to
  // tell.
  Result<> check(const Json& value) const;
  const std::vector<std::string>& unchecked() const { return unchecked_; }

 private:
  friend class SchemaCompiler;
  friend class SchemaCheck;
  struct Parts;  // expressions and the targets of references, by their place in the document
  JsonSchema();
  Json document_;
  std::unique_ptr<Parts> parts_;
  std::vector<std::string> unchecked_;
};

}  // namespace policies
