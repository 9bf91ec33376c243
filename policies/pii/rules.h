// PiiRules: a policy's rules for personal data: which kinds are detected, where tokens are restored, and whether
// answers are sanitised. Complete and checked, with compiled expressions.
// Source: the "pii" object of policies/*.json. Applied by supervisor/tools (pii_tools.cc, pii_response_filter.cc).
#pragma once
#include <chrono>
#include <memory>
#include <vector>

#include "policies/pii/detect.h"
#include "supervisor/base/json/json_fwd.h"
#include "supervisor/base/result.h"

namespace policies {

struct PiiRules {
  enum class Answers { as_is, sanitised };
  // Where tokens may be restored to personal data. code: in jailed programs, with answers that are sanitised or not.
  // agents: also with the tool restore_pii.
  enum class Restore { no_user, code, agents };
  Answers answers = Answers::as_is;
  Restore restore = Restore::no_user;
  std::chrono::seconds lifetime{7 * 24 * 3600};  // of a token, counted from the last time that its text was seen
  std::shared_ptr<const PiiDetector> detector = every_type();

  // The detector of all built-in types. It is made once.
  static const std::shared_ptr<const PiiDetector>& every_type();
};

// Adds the errors in `object` to `problems`. Each names its key: "pii.patterns.employee_id: ...".
PiiRules read_pii_rules(const Json& object, std::vector<Error>& problems);

}  // namespace policies
