#include "supervisor/executions/jail_spec.h"

namespace executions {

jail::Spec make_spec(const policies::Policy& policy, jail::Language language, const policies::Limits& limits) {
  jail::Spec spec;
  spec.language = language;
  spec.limits = limits;
  spec.isolation = policy.isolation;
  spec.environment = policy.environment;
  spec.filter = policy.filter;
  return spec;
}

}  // namespace executions
