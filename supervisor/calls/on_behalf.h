// `Who`: the caller of an upstream server's tool: a client, directly or through the code of its execution.
// Used by: upstream_call.cc and the files that it calls; guest_calls.h stores the caller of an execution with the
// amounts that its calls have used. No errors.
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
  std::shared_ptr<const policies::Policy> policy;  // for an execution: the policy that it began with
  uint32_t uid = 0;                                // of the client
  int32_t pid = 0;
  std::string execution;                            // empty: a direct call
  mcp::RequestContext& client;                      // the client's request: the call itself, or its execution
  jail::Handle* jail = nullptr;                     // held while a person is asked; nullptr: no jail
  std::function<void(std::string line)> tell = {};  // takes a line of progress; empty: the client wants no progress
  TraceContext trace = {};                          // the parent of the call's span
};

}  // namespace calls
