// TenantId: names the owner of files and executions: a tenant's account, or one of the account's named workspaces.
// Its text form is "acme", or "acme/reports" for a workspace. Only the journal, D-Bus and log lines have the text.
// Source: Tenant::open, Tenant::open_workspace, and parse() for stored text. Used by: tenants and their services,
// journal, tasks, upstream. Errors of parse(): invalid.
#pragma once
#include <compare>
#include <string>
#include <string_view>

#include "supervisor/base/result.h"

namespace tenants {

struct TenantId {
  std::string account;
  std::string workspace = {};  // empty: the account's own workspace

  // Accepts exactly the texts that text() makes of valid names (policies::valid_name, valid_workspace_name).
  static Result<TenantId> parse(std::string_view text);
  std::string text() const;

  auto operator<=>(const TenantId&) const = default;
};

// The account of a tenant's text: "acme" of "acme" and of "acme/reports". Part of `tenant`, which must outlive it.
inline std::string_view account_of(std::string_view tenant) { return tenant.substr(0, tenant.find('/')); }

}  // namespace tenants
