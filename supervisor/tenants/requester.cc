#include "supervisor/tenants/requester.h"

#include <stdexcept>

#include "policies/policy.h"
#include "policies/staging_rules.h"
#include "supervisor/protocol/mcp/context.h"
#include "supervisor/tenants/tenant.h"

namespace tenants {

Member& member_of(const std::shared_ptr<mcp::ConnectionUser>& user) {
  auto* member = dynamic_cast<Member*>(user.get());
  if (!member) throw std::logic_error("a connection without a member of a tenant");
  return *member;
}

Member& member_of(const mcp::RequestContext& context) { return member_of(context.user); }

Requester make_requester(const mcp::RequestContext& context, std::shared_ptr<Tenant> tenant) {
  return {std::move(tenant), member_of(context).policy, context.principal, read_trace_context(context.meta)};
}

bool may_run_anywhere(const Json& meta) {
  if (!meta.is_object()) return false;
  const auto it = meta.find(kPlaceKey);
  return it != meta.end() && *it == "any";
}

Result<> check_run_location(const Json& meta) {
  const auto position = meta.is_object() ? meta.find(kPlaceKey) : meta.end();
  if (position == meta.end() || *position == "home" || *position == "any") return {};
  return fail(Code::invalid, std::string("_meta: ") + kPlaceKey + " is neither \"home\" nor \"any\"",
              "leave it out: the program then runs at the home of its workspace");
}

Result<Requester> Registry::stateless_requester(const mcp::RequestContext& context) {
  const Member& member = member_of(context);
  if (!member.policy->cluster.spreads_stateless)
    return fail(Code::denied, "policy '" + member.policy->name + "' allows no stateless executions",
                std::string("leave out _meta ") + kPlaceKey + ", or ask the administrator for cluster.spread",
                "cluster.spread");
  Requester requester = make_requester(context, nullptr);
  TRY(requester.tenant, stateless_workspace(member));
  requester.policy = stateless_policy(member.policy);
  return requester;
}

// Reads alone, and nothing that stays.
std::shared_ptr<const policies::Policy> Registry::stateless_policy(const std::shared_ptr<const policies::Policy>& of) {
  auto& created = stateless_policies_[of];
  if (created) return created;
  auto policy = std::make_shared<policies::Policy>(*of);
  policy->staging = {};
  policy->staging.mode = policies::WorkspaceMode::read_only;
  policy->workflows = {};
  created = std::move(policy);
  return created;
}

Result<Requester> Registry::requester_of(const mcp::RequestContext& context) {
  TRY(std::shared_ptr<Tenant> tenant, workspace_in(member_of(context), context.meta));
  return make_requester(context, std::move(tenant));
}

}  // namespace tenants
