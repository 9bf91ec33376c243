#include "supervisor/tools/proposals/proposal_resources.h"

#include "policies/policy_parts.h"
#include "policies/staging_rules.h"
#include "supervisor/base/json/json.h"
#include "supervisor/tenants/proposals/proposal_json.h"

namespace tools {
namespace {

constexpr size_t kMaxDiff = 4 << 20;  // bytes; resources/read has no ranges
constexpr char kDiffEnd[] = "/diff";

tl::unexpected<Error> no_such_proposal() {
  return fail(Code::not_found, "this proposal does not exist",
              "resources are proposal:///<id> and proposal:///<id>/diff, of proposals of this workspace");
}

Task<Result<mcp::ResourcePage>> list_proposals(proposals::ProposalStores& stores,
                                               Result<tenants::Requester> requester) {
  if (!requester) co_return tl::unexpected<Error>(std::move(requester).error());
  mcp::ResourcePage page;
  if (!policies::staging_of(*requester->policy).offers()) co_return page;
  CO_TRY(const auto store, co_await stores.of(requester->tenant, policies::staging_of(*requester->policy)));
  for (const proposals::Proposal& proposal : store->list()) {
    mcp::Resource resource;
    resource.uri = std::string(proposals::kProposalScheme) + proposal.id + kDiffEnd;
    resource.name = "proposal " + proposal.id + ", " + std::string(proposals::state_name(proposal.state));
    resource.mime_type = "text/x-diff";
    page.resources.push_back(std::move(resource));
  }
  co_return page;
}

Json whole_proposal(const proposals::Proposal& proposal) {
  Json report = proposal_json(proposal, {});
  report["execution"] = proposal.about.execution;
  report["language"] = proposal.about.language;
  report["settled_ms"] = proposal.settled_ms;
  report["bytes"] = proposal.bytes;
  report["files"] = staged_files_json(proposal.files);
  return report;
}

Task<Result<std::vector<mcp::ResourceContents>>> read_proposal(proposals::ProposalStores& stores,
                                                               Result<tenants::Requester> requester, std::string uri) {
  if (!requester) co_return tl::unexpected<Error>(std::move(requester).error());
  if (!uri.starts_with(proposals::kProposalScheme)) co_return no_such_proposal();
  std::string id = uri.substr(sizeof proposals::kProposalScheme - 1);
  const bool wants_diff = id.ends_with(kDiffEnd);
  if (wants_diff) id.resize(id.size() - (sizeof kDiffEnd - 1));
  CO_TRY(const auto store, co_await stores.of(requester->tenant, policies::staging_of(*requester->policy)));
  auto proposal = store->find(id);
  if (!proposal) co_return no_such_proposal();
  mcp::ResourceContents contents;
  contents.uri = std::move(uri);
  contents.mime_type = wants_diff ? "text/x-diff" : "application/json";
  if (wants_diff) {
    CO_TRY(contents.data, co_await store->diff(id, kMaxDiff));
  } else {
    contents.data = dump_json(whole_proposal(*proposal));
  }
  std::vector<mcp::ResourceContents> resource_contents;
  resource_contents.push_back(std::move(contents));
  co_return resource_contents;
}

}  // namespace

mcp::ResourceProvider proposal_resources(const tenants::RequesterOf& requester_of, proposals::ProposalStores& stores) {
  mcp::ResourceProvider provider;
  provider.list = [requester_of, &stores](mcp::RequestContext& context, std::string) {
    return list_proposals(stores, requester_of(context));
  };
  provider.read = [requester_of, &stores](mcp::RequestContext& context, std::string uri) {
    return read_proposal(stores, requester_of(context), std::move(uri));
  };
  provider.prefixes = {proposals::kProposalScheme};
  mcp::ResourceTemplate diff;
  diff.uri_template = std::string(proposals::kProposalScheme) + "{id}/diff";
  diff.name = "proposal";
  diff.description = "What a staged execution wants to change, as a unified diff; without /diff as JSON";
  diff.mime_type = "text/x-diff";
  provider.templates = {diff};
  return provider;
}

}  // namespace tools
