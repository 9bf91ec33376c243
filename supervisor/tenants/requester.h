// Requester: on whose behalf a handler works: tenant, policy, principal and trace of one request. Made once by each
// handler, when it begins. It stays the same while the request runs, also if a reload gives the connection another
// policy. Source: the connection's Member, and the workspace that the request names (Registry::requester_of).
// Used by: supervisor/tools, and the services that they call. Errors of RequesterOf: those of Registry::workspace.
#pragma once
#include <functional>
#include <memory>

#include "policies/policy_fwd.h"
#include "supervisor/base/json/json_fwd.h"
#include "supervisor/base/result.h"
#include "supervisor/base/trace_parent.h"
#include "supervisor/protocol/mcp/principal.h"

namespace mcp {
class ConnectionUser;
class RequestContext;
}  // namespace mcp

namespace tenants {

class Tenant;
struct Member;

struct Requester {
  std::shared_ptr<Tenant> tenant;  // the tenant, or its named workspace
  std::shared_ptr<const policies::Policy> policy;
  mcp::Principal principal;
  TraceContext trace = {};  // the parent of the request's spans
};

// The key of a request's _meta that says where an execution may run: "home", as without the key, or "any".
inline constexpr char kPlaceKey[] = "org.warder/place";
// Whether a request's _meta says "any". Other values: see check_run_location().
bool may_run_anywhere(const Json& meta);
// Errors: invalid: the value is neither "home" nor "any", or not a string.
Result<> check_run_location(const Json& meta);

using RequesterOf = std::function<Result<Requester>(const mcp::RequestContext&)>;

// The Member of a connection. Throws std::logic_error for other data, which is a bug of the program: in warderd every
// admitted connection has a Member.
Member& member_of(const std::shared_ptr<mcp::ConnectionUser>& user);
Member& member_of(const mcp::RequestContext& context);

// The requester under the member's present policy, for `tenant`: the member's own tenant or its named workspace.
Requester make_requester(const mcp::RequestContext& context, std::shared_ptr<Tenant> tenant);

}  // namespace tenants
