#include "supervisor/executions/runs/proposal_conclusion.h"

#include "policies/policy_parts.h"
#include "policies/staging_rules.h"
#include "supervisor/tenants/proposals/proposal_json.h"

namespace runs {

Task<Json> conclude_proposal(proposals::ProposalStores& stores, const tenants::Requester& requester,
                             proposals::Proposal proposal, jail::Outcome outcome, size_t diff_bytes) {
  const policies::StagingRules rules = policies::staging_of(*requester.policy);
  const auto tenant = requester.tenant;
  auto store = co_await stores.of(tenant, rules);
  if (!store) co_return proposals::proposal_json(proposal, {});
  proposals::ProposalStores::count(*tenant, **store);
  const std::string id = proposal.id;
  std::string diff;
  if (auto text = co_await (*store)->diff(id, diff_bytes)) diff = *std::move(text);
  using Ended = proposals::ProposalStores::Ended;
  const Ended how = outcome == jail::Outcome::ok ? Ended::well : Ended::badly;
  proposal = co_await stores.conclude(tenant, *store, std::move(proposal), how, rules.commit);
  co_return proposals::proposal_json(proposal, diff);
}

}  // namespace runs
