// WorkspaceRules: named workspaces, which a tenant's requests name, and how long unused ones stay.
// Source: "named_workspaces" of a policy. Applied by supervisor/tenants/named_workspaces.h. No errors.
#pragma once
#include <chrono>
#include <cstdint>

namespace policies {

struct WorkspaceRules {
  uint32_t max = 0;
  std::chrono::seconds idle{0};     // a workspace is removed after this time without use; 0: never
  std::chrono::seconds warning{0};  // at least this long before the removal, it is announced
};

}  // namespace policies
