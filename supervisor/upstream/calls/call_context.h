// CallContext: on whose behalf an upstream server's tool is called: a requester, directly or through the code of an
// execution. Source: the handler of the request; runs/code_execution.cc for code.
// Used by: upstream_call.cc and the files that it calls; guest_calls.h for all calls of jailed code. No errors.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "supervisor/base/work.h"
#include "supervisor/records/workflows/workflow.h"
#include "supervisor/tenants/requester.h"

namespace mcp {
class RequestContext;
}

namespace jail {
class Handle;
}

namespace calls {

// The requester's trace is the parent of the call's span.
struct CallContext : tenants::Requester {
  mcp::RequestContext& client;   // the client's request: the call itself, or its execution
  std::string execution = {};    // empty: a direct call
  jail::Handle* jail = nullptr;  // held while a person is asked; nullptr: no jail
  // A background execution that a later daemon may start again; its `workflow` is not known yet. nullptr: any other.
  std::shared_ptr<const workflows::StoredRun> run = {};
  std::function<void(std::string line)> notify = {};  // takes a line of progress; empty: the client wants no progress
};

// The owner of all work on the call's data.
Work::Owner owner_of(const tenants::Requester& requester);

}  // namespace calls
