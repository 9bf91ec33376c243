#include "supervisor/tenants/requester.h"

#include <stdexcept>

#include "supervisor/mcp/context.h"

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

Result<Requester> Registry::requester_of(const mcp::RequestContext& context) {
  TRY(std::shared_ptr<Tenant> tenant, workspace_in(member_of(context), context.meta));
  return make_requester(context, std::move(tenant));
}

}  // namespace tenants
