// The response filter of a tenant whose policy hides personal data in every answer: it replaces it by tokens.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "policies/pii/rules.h"
#include "supervisor/mcp/response_filter.h"
#include "supervisor/privacy/pii_vaults.h"

namespace privacy {

// Whose request it is and what the policy said when it began.
struct PiiUser {
  std::string tenant;
  policies::PiiRules rules;
  std::shared_ptr<const void> keeps = {};  // what must not end before the request
};
using PiiUserOf = std::function<Result<PiiUser>(const mcp::RequestContext&)>;

// For Server::set_response_filter. Tokens that the vault knows stay as they are.
mcp::ResponseFilterOf pii_response_filter(PiiUserOf user_of, PiiVaults& vaults);

}  // namespace privacy
