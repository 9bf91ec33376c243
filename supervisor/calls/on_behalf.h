// Who: on whose behalf a tool of another server is called: a client, directly or through the code of its execution.
// Used by: upstream_call.cc and all that it asks; an execution's is kept with what its calls have used up
// (guest_calls.h).
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "policies/policy.h"
#include "supervisor/base/trace_parent.h"
#include "supervisor/mcp/context.h"
#include "supervisor/tenants/tenant.h"

namespace jail {
class Handle;
}

namespace calls {

struct Who {
  std::shared_ptr<tenants::Tenant> tenant;
  std::shared_ptr<const policies::Policy> policy;  // that of an execution: the one it began with
  uint32_t uid = 0;                                // of the client
  int32_t pid = 0;
  std::string execution;                            // empty: a direct call
  mcp::RequestContext& client;                      // the request that the call, or its execution, answers
  jail::Handle* jail = nullptr;                     // held while somebody is asked; nullptr: nothing is
  std::function<void(std::string line)> tell = {};  // a line of progress; empty: nobody wants it
  TraceContext trace = {};                          // what the call belongs to
};

}  // namespace calls
