// pii_response_filter(): the response filter of tenants whose policy replaces personal data in every answer by tokens.
// Source: the policy's `pii` rules. Used by: supervisor/daemon/. Errors: those of the vault; then the whole answer is
// withheld.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "policies/pii/rules.h"
#include "supervisor/mcp/response_filter.h"
#include "supervisor/privacy/pii_vaults.h"

namespace privacy {

// PiiUser: the tenant of a request, and the policy's rules when the request began.
struct PiiUser {
  std::string tenant;
  policies::PiiRules rules;
  std::shared_ptr<const void> keeps = {};  // an object that must outlive the request: the tenant
};
using PiiUserOf = std::function<Result<PiiUser>(const mcp::RequestContext&)>;

// For Server::set_response_filter. Tokens that the vault knows stay as they are.
mcp::ResponseFilterOf pii_response_filter(PiiUserOf user_of, PiiVaults& vaults);

}  // namespace privacy
