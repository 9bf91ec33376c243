#include "supervisor/executions/jail_spec.h"

#include "jail/proxy_environment.h"
#include "policies/policy.h"

namespace executions {
jail::Spec make_spec(const policies::Policy& policy, jail::Language language, const policies::Limits& limits) {
  jail::Spec spec;
  spec.language = language;
  spec.limits = limits;
  spec.displayed = {limits.memory_bytes, limits.cpus};
  const policies::Limits& max = policy.limits.maximum;
  spec.at_ceiling = {policy.name, limits.wall >= max.wall, limits.memory_bytes >= max.memory_bytes};
  spec.isolation = policy.isolation;
  spec.environment = policy.environment;
  spec.listens = policy.egress.is_on();
  if (spec.listens) jail::add_proxy(spec.environment);
  spec.filter = policy.filter;
  spec.layers = policy.layers;
  spec.layers_named = policy.layer_names.size();
  return spec;
}

}  // namespace executions
