// The resources proposal:///<id> (a proposal as JSON, with all its files) and proposal:///<id>/diff (its unified diff),
// for the caller's own workspace. Used by: supervisor/daemon/. Errors: not_found, and those of ProposalStore.
#pragma once
#include "supervisor/protocol/mcp/registry.h"
#include "supervisor/tenants/proposals/proposal_stores.h"
#include "supervisor/tenants/requester.h"

namespace tools {

// `stores` must outlive the server.
mcp::ResourceProvider proposal_resources(const tenants::RequesterOf& requester_of, proposals::ProposalStores& stores);

}  // namespace tools
