#include "supervisor/daemon/expected_jails.h"

#include "policies/policy.h"
#include "supervisor/executions/jail_spec.h"

// No jail is built for TypeScript, because it holds the library that reads types and takes twice the memory. The first
// TypeScript call takes a JavaScript jail.
void ExpectedJails::expect(const policies::Policy& policy) {
  for (auto language : jail::kLanguages) {
    if (language != jail::Language::typescript && policy.allows_language(jail::language_name(language)))
      pool_.expect(executions::make_spec(policy, language, policy.limits.standard), policy.pool);
  }
}

void ExpectedJails::replace() {
  pool_.clear();
  for (const auto& policy : members_.policies()) expect(*policy);
}
