// Detector: finds personal data and secrets in text. Shapes are RE2 expressions, one pass for all of them; what has the
// shape must then pass its validator and fit what stands around it. Immutable; several may share one.
// Source of custom patterns: a policy. Used by: pii/tokens.cc.
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

class PiiScan;

class PiiDetector {
 public:
  // Errors: invalid: a type that is not known, a pattern that is no RE2 expression, too large a one, or fits the empty
  // text.
  static Result<std::shared_ptr<const PiiDetector>> make(const PiiOptions& options);
  ~PiiDetector();
  // Whether a pattern can be used. Errors: invalid, as make().
  static Result<> check(const PiiPattern& pattern);
  // In their order, apart(). `only`: these types and no other; empty: all that it looks for. A PiiScan, run to its end.
  std::vector<PiiFinding> find(std::string_view text, std::span<const std::string> only = {}) const;
  bool looks_for(std::string_view type) const;
  // All that it looks for, sorted.
  std::vector<std::string> known() const;
  // The built-in types, sorted.
  static const std::vector<std::string>& types();

 private:
  friend class PiiScan;
  struct Compiled;
  explicit PiiDetector(std::unique_ptr<const Compiled> compiled);
  std::unique_ptr<const Compiled> compiled_;
};

// One text, looked at in steps of about a millisecond, so that who has other things to do can do them in between.
// The text, the detector and `only` must outlive it. What is longer than 64 KiB may not be found.
class PiiScan {
 public:
  PiiScan(std::string_view text, const PiiDetector& detector, std::span<const std::string> only = {})
      : text_(text), detector_(detector), only_(only) {}
  enum class Step { more, done };
  Step step();
  // After the last step: in their order, apart().
  std::vector<PiiFinding> take() { return apart(std::move(found_)); }
  // How often something had the shape of a finding and was looked at: what a hostile text makes expensive.
  size_t looks() const { return looks_; }

 private:
  void look_for_shapes(size_t edge, size_t limit);
  void look_for_pattern(size_t edge, size_t limit);
  void add(PiiFinding one);

  std::string_view text_;
  const PiiDetector& detector_;
  std::span<const std::string> only_;
  size_t expression_ = 0;  // shapes, secrets, then each pattern of the policy: every one passes over the whole text
  size_t at_ = 0;          // where that one goes on
  size_t taken_ = 0;       // the end of its last finding: none reaches back into it
  size_t looks_ = 0, last_look_ = 0;  // ... of this step
  std::vector<PiiFinding> found_;
};

}  // namespace policies
