#include "supervisor/upstream/calls/call_context.h"

#include "policies/limits.h"
#include "policies/policy_parts.h"
#include "supervisor/tenants/tenant.h"

namespace calls {

Work::Owner owner_of(const tenants::Requester& requester) {
  return {requester.tenant->name(), policies::limits_of(*requester.policy).standard.json_bytes_per_second};
}

}  // namespace calls
