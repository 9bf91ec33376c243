// PiiDetector: finds personal data and secrets in text. Shapes are RE2 expressions, and one pass looks for all of them.
// A match must then pass its validator and fit the text around it. Immutable; several users may share a detector.
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
  std::string_view type;      // "email"; valid as long as the detector
  bool operator==(const PiiFinding&) const = default;
};

struct PiiPattern {
  std::string type;        // [a-z][a-z0-9_]{0,31}: "employee_id"
  std::string expression;  // RE2; if it has a group, the finding is its first group
};

struct PiiOptions {
  enum class Secrets { find, leave };
  Secrets secrets = Secrets::find;   // api_key and private_key
  std::vector<std::string> types;    // only these; empty: all
  std::vector<PiiPattern> patterns;  // in addition to the built-in ones
  std::vector<std::string> allowed;  // texts that are not findings: "support@example.com"
};

// Sorts the findings by position. Overlapping findings become one, with the type of the longest.
std::vector<PiiFinding> apart(std::vector<PiiFinding> findings);

class PiiScan;

class PiiDetector {
 public:
  // Errors: invalid: an unknown type, or a pattern that is no RE2 expression, is too large, or fits the empty text.
  static Result<std::shared_ptr<const PiiDetector>> make(const PiiOptions& options);
  ~PiiDetector();
  // Whether a pattern can be used. Errors: invalid, as for make().
  static Result<> check(const PiiPattern& pattern);
  // All findings in `text`, as from apart(). `only`: finds these types only; empty: all types of the detector. Runs a
  // PiiScan to its end.
  std::vector<PiiFinding> find(std::string_view text, std::span<const std::string> only = {}) const;
  bool looks_for(std::string_view type) const;
  // All types that this detector looks for, sorted.
  std::vector<std::string> known() const;
  // The built-in types, sorted.
  static const std::vector<std::string>& types();

 private:
  friend class PiiScan;
  struct Compiled;
  explicit PiiDetector(std::unique_ptr<const Compiled> compiled);
  std::unique_ptr<const Compiled> compiled_;
};

// PiiScan: examines one text in steps of about a millisecond, so that the caller can do other work between steps. The
// text, the detector and `only` must outlive the scan. Personal data longer than 64 KiB may not be found.
class PiiScan {
 public:
  PiiScan(std::string_view text, const PiiDetector& detector, std::span<const std::string> only = {})
      : text_(text), detector_(detector), only_(only) {}
  enum class Step { more, done };
  Step step();
  // After the last step: all findings, as from apart().
  std::vector<PiiFinding> take() { return apart(std::move(findings_)); }
  // How many candidates were examined so far. A hostile text can make this number large.
  size_t looks() const { return looks_; }

 private:
  void find_shapes(size_t edge, size_t limit);
  void find_pattern(size_t edge, size_t limit);
  void add(PiiFinding finding);

  std::string_view text_;
  const PiiDetector& detector_;
  std::span<const std::string> only_;
  size_t expression_ = 0;   // 0: shapes, 1: secrets, then each pattern of the policy; each passes over the whole text
  size_t at_ = 0;           // where the current expression continues
  size_t end_of_last_ = 0;  // end of the last finding of this expression; findings begin behind it
  size_t looks_ = 0, last_check_ = 0;  // candidates in all; the limit of this step
  std::vector<PiiFinding> findings_;
};

}  // namespace policies
