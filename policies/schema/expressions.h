// SchemaExpressions: the regular expressions of JSON Schemas. An expression is compiled at its first use, because a
// server may list thousands of tools with hundreds of expressions each, of which few are ever used. The compiled forms
// of all schemas share kMaxMemory; the one that was used longest ago is dropped first.
// Source: ECMA-262 expressions in schemas of policies and upstream servers. Used by: json_schema.cc and
// json_schema_compile.cc, on any thread.
#pragma once
#include <re2/re2.h>

#include <memory>
#include <string>
#include <string_view>

#include "supervisor/base/result.h"
#include "supervisor/base/work_meter.h"

namespace policies {

class SchemaExpressions {
 public:
  static constexpr size_t kMaxBytes = 4096;                                   // of one expression
  static constexpr int64_t kSmallMemory = 128 << 10, kLargeMemory = 1 << 20;  // of one compiled form
  static constexpr int64_t kMaxMemory = 64 << 20;
  // RE2 cannot be interrupted. In the worst case it does one step of some 3 ns for each byte of the text and each
  // instruction of the compiled form.
  static constexpr uint64_t kMaxMatchSteps = 200'000'000;

  using Compiled = std::shared_ptr<const re2::RE2>;
  // Errors: invalid: RE2 does not support the expression, or it is too long or too large.
  static Result<Compiled> compiled(const std::string& pattern);
  // Whether the expression fits a part of the text. Errors: exhausted: the match could take too long, or the meter is
  // over.
  static Result<bool> fits(const re2::RE2& expression, std::string_view text, WorkMeter& meter);
};

// The ECMA-262 pattern in the syntax of RE2: changes \uXXXX, \cX, \/ and named groups.
std::string re2_from_ecma(std::string_view pattern);

}  // namespace policies
