// pii_response_filter(): the response filter of tenants whose policy replaces personal data in every answer by tokens.
// Source: the policy's `pii` rules. Used by: supervisor/daemon/. Errors: those of the vault; then the whole answer is
// withheld.
#pragma once
#include "supervisor/base/work.h"
#include "supervisor/protocol/mcp/response_filter.h"
#include "supervisor/tenants/privacy/pii_vaults.h"
#include "supervisor/tenants/requester.h"

namespace privacy {

// For Server::set_response_filter. The rules are those of the policy when the request began. Tokens that the vault
// knows stay as they are.
// Vaults and `work` must outlive all requests.
mcp::ResponseFilterOf pii_response_filter(tenants::RequesterOf requester_of, PiiVaults& vaults, Work& work);

}  // namespace privacy
