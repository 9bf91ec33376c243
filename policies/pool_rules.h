// PoolRules: finished jails that wait for this policy's executions, for each language in use.
// Source: "pool" of a policy. Applied by jail/pool. No errors.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace policies {

struct PoolRules {
  uint32_t min_idle = 0;  // from the tenant's first connection on
  uint32_t max_idle = 0;  // upper bound for any demand; eight times as many forks, which hold a fifth of the memory
  bool zygotes = false;   // later jails of a tenant may be forks of that tenant's interpreter
  std::vector<std::string> preload;  // Python modules that waiting interpreters load, where installed
};

}  // namespace policies
