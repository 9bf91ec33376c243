// Detector: finds personal data and secrets in text. Shapes are RE2 expressions, one pass for all of them; what has the
// shape must then pass its validator and fit what stands around it. Immutable; several may share one.
// Source of custom patterns: a policy. Used by: pii_tokens.cc.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/result.h"

namespace policies {

struct PiiFinding {
  size_t begin = 0, end = 0;  // bytes
  std::string_view type;      // "email"; lives as long as the detector
  bool operator==(const PiiFinding&) const = default;
};

struct PiiPattern {
  std::string type;        // [a-z][a-z0-9_]{0,31}: "employee_id"
  std::string expression;  // RE2; its first group is what is found, if it has one
};

struct PiiOptions {
  enum class Secrets { find, leave };
  Secrets secrets = Secrets::find;   // api_key and private_key
  std::vector<std::string> types;    // only these; empty: all
  std::vector<PiiPattern> patterns;  // beside the built-in ones
  std::vector<std::string> allowed;  // texts that are no finding: "support@example.com"
};

// In their order; those that overlap become one, of the type of the longest.
std::vector<PiiFinding> apart(std::vector<PiiFinding> findings);

class PiiDetector {
 public:
  // Errors: invalid: a type that is not known, a pattern that is no RE2 expression, too large a one, or fits the empty
  // text.
  static Result<std::shared_ptr<const PiiDetector>> make(const PiiOptions& options);
  ~PiiDetector();
  // Whether a pattern can be used. Errors: invalid, as make().
  static Result<> check(const PiiPattern& pattern);
  // In their order, apart(). `only`: these types and no other; empty: all that it looks for.
  std::vector<PiiFinding> find(std::string_view text, std::span<const std::string> only = {}) const;
  bool looks_for(std::string_view type) const;
  // All that it looks for, sorted.
  std::vector<std::string> known() const;
  // The built-in types, sorted.
  static const std::vector<std::string>& types();

 private:
  struct Compiled;
  explicit PiiDetector(std::unique_ptr<const Compiled> compiled);
  std::unique_ptr<const Compiled> compiled_;
};

}  // namespace policies
