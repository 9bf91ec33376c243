// PiiRules: what a policy says of personal data: what is looked for, who may have it back, and whether answers are
// cleaned on their way out. Complete and checked, its expressions compiled.
// Source: the "pii" object of policies/*.json. Applied by supervisor/tools (pii_tools.cc, pii_response_filter.cc).
#pragma once
#include <chrono>
#include <memory>
#include <vector>

#include "policies/pii/detect.h"
#include "supervisor/base/json_fwd.h"
#include "supervisor/base/result.h"

namespace policies {

struct PiiRules {
  enum class Answers { as_is, sanitised };
  // Who gets from tokens to what they stand for. code: jailed programs, whose answers then go out sanitised or not.
  // agents: the tool restore_pii, too.
  enum class Restore { nobody, code, agents };
  Answers answers = Answers::as_is;
  Restore restore = Restore::nobody;
  std::chrono::seconds lifetime{7 * 24 * 3600};  // of a token, after its text was last seen
  std::shared_ptr<const PiiDetector> detector = every_type();

  // The detector of all built-in types; made once.
  static const std::shared_ptr<const PiiDetector>& every_type();
};

// Adds what is wrong to `problems`, each naming its key: "pii.patterns.employee_id: ...".
PiiRules read_pii_rules(const Json& object, std::vector<Error>& problems);

}  // namespace policies
