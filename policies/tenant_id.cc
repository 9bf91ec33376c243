#include "policies/tenant_id.h"

#include "policies/names.h"
#include "supervisor/base/json/json.h"

namespace tenants {

Result<TenantId> TenantId::parse(std::string_view text) {
  const size_t slash = text.find('/');
  TenantId id{std::string(text.substr(0, slash))};
  const bool is_account = policies::valid_name(id.account);
  if (is_account && slash == text.npos) return id;
  if (is_account) id.workspace = text.substr(slash + 1);
  // "default" is another name of the account's own workspace, and never part of a text.
  if (policies::valid_workspace_name(id.workspace) && id.workspace != "default") return id;
  return fail(Code::invalid, "'" + valid_utf8(text.substr(0, 130)) + "' names no tenant",
              "write TENANT or TENANT/WORKSPACE");
}

std::string TenantId::text() const { return workspace.empty() ? account : account + "/" + workspace; }

}  // namespace tenants
