#include "supervisor/executions/jail_spec.h"

#include <fmt/format.h>

#include "jail/listener.h"

namespace executions {
namespace {

// curl takes http_proxy in lower case only; Node.js 22.21 and later need NODE_USE_ENV_PROXY. The policy's own variables
// stay as they are.
void add_proxy(std::map<std::string, std::string>& environment) {
  const std::string proxy = fmt::format("http://127.0.0.1:{}", jail::kEgressPort);
  for (const char* name : {"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"})
    environment.try_emplace(name, proxy);
  for (const char* name : {"NO_PROXY", "no_proxy"}) environment.try_emplace(name, "localhost,127.0.0.1,::1");
  environment.try_emplace("NODE_USE_ENV_PROXY", "1");
}

}  // namespace

jail::Spec make_spec(const policies::Policy& policy, jail::Language language, const policies::Limits& limits) {
  jail::Spec spec;
  spec.language = language;
  spec.limits = limits;
  const policies::Limits& most = policy.limits.maximum;
  spec.at_ceiling = {policy.name, limits.wall >= most.wall, limits.memory_bytes >= most.memory_bytes};
  spec.isolation = policy.isolation;
  spec.environment = policy.environment;
  spec.listens = policy.egress.is_on();
  if (spec.listens) add_proxy(spec.environment);
  spec.filter = policy.filter;
  spec.layers = policy.layers;
  spec.layers_named = policy.layer_names.size();
  return spec;
}

}  // namespace executions
