#include "jail/proxy_environment.h"

#include <fmt/format.h>

#include "jail/orders.h"

namespace jail {

// curl takes http_proxy in lower case only; Node.js 22.21 and later need NODE_USE_ENV_PROXY.
void add_proxy(std::map<std::string, std::string>& environment) {
  const std::string proxy = fmt::format("http://127.0.0.1:{}", kEgressPort);
  for (const char* name : {"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"})
    environment.try_emplace(name, proxy);
  for (const char* name : {"NO_PROXY", "no_proxy"}) environment.try_emplace(name, "localhost,127.0.0.1,::1");
  environment.try_emplace("NODE_USE_ENV_PROXY", "1");
}

}  // namespace jail
