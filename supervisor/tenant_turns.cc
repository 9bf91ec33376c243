#include "supervisor/tenant_turns.h"

#include "supervisor/tenants/tenant.h"

void close_tenant_workspace(const Parts& parts, const tenants::TenantId& id) {
  for (TenantDataOwner* owner : parts.all<TenantDataOwner>()) {
    owner->close_account(id.account);
    owner->close_workspace(id);
  }
}

void close_tenant_account(const Parts& parts, const tenants::Registry& registry, const std::string& tenant) {
  const auto owners = parts.all<TenantDataOwner>();
  for (TenantDataOwner* owner : owners) owner->close_account(tenant);
  for (const auto& workspace : registry.of_account(tenant))
    for (TenantDataOwner* owner : owners) owner->close_workspace(workspace->id());
}

void forget_tenant(const Parts& parts, const tenants::TenantId& id) {
  const auto owners = parts.all<TenantDataOwner>();
  for (TenantDataOwner* owner : owners) owner->close_workspace(id);
  for (TenantDataOwner* owner : owners) owner->forget(id);
}
