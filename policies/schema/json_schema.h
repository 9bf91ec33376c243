// JsonSchema: a compiled JSON Schema that checks values. Dialect 2020-12, and older spellings of the same
// (`definitions`, `items` as a list with `additionalItems`, `dependencies`).
// Source: policies (conditions on arguments) and the inputSchema of upstream servers' tools. Both may be cyclic, huge
// or made to be slow: depth and size are bounded, a WorkMeter bounds the time, expressions run in RE2 (expressions.h),
// and no schema is fetched.
//   assertions: type enum const, all of numbers, strings, lists and objects, uniqueItems, contains, dependent*,
//     propertyNames, allOf anyOf oneOf not, if then else, unevaluated*, $ref $id $anchor $dynamicRef $defs
//   ignored: format, content*, and other annotations; vocabularies; schemas outside of the document
// Specification: json-schema.org/draft/2020-12, core and validation.
#pragma once
#include <memory>

#include "supervisor/base/json/json_value.h"
#include "supervisor/base/result.h"
#include "supervisor/base/work_meter.h"

namespace policies {

class JsonSchema {
 public:
  // For parts that cannot be checked exactly (an expression that RE2 does not support, a reference to another
  // document). refuse: an error. let_pass: every value fits the part.
  enum class Unknown { refuse, let_pass };
  static constexpr size_t kMaxSchemas = 20'000;   // in one document
  static constexpr size_t kMaxBytes = 1 << 20;    // bytes of the document
  static constexpr int kMaxDepth = 128;           // of nested schemas; a reference counts as a level
  static constexpr size_t kMaxExpressions = 500;  // that one check uses

  // Errors: invalid, naming the place in the schema: "#/properties/a: type: "text" is no type"; those of the meter.
  // The compiled schema shares the document.
  static Result<std::shared_ptr<const JsonSchema>> compile(std::shared_ptr<const Json> schema, Unknown unknown,
                                                           WorkMeter& meter);
  ~JsonSchema();

  // Errors: invalid, naming place and reason: "/labels/0: 3 is not a string"; exhausted: the schema is nested too deep
  // for a check, or uses too many or too slow expressions; those of the meter.
  Result<> check(const Json& value, WorkMeter& meter) const;

 private:
  friend class SchemaCompiler;
  friend class SchemaCheck;
  struct Parts;  // the targets of references, by their place in the document
  explicit JsonSchema(std::shared_ptr<const Json> document);
  const std::shared_ptr<const Json> document_;
  std::unique_ptr<Parts> parts_;
};

}  // namespace policies
