// GuestCalls: the named calls that jailed code can make to the daemon, and their handlers.
// Source: the guest protocol's `call`. It is hostile, like all input from a jail: a handler must check its arguments
// completely. Used by: supervisor/tools (adds handlers), code_execution.cc. Errors: not_found for a name without a
// handler; those of the handlers.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "jail/talk/guest_message.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/result.h"
#include "supervisor/base/task.h"
#include "supervisor/records/workflows/workflow.h"
#include "supervisor/upstream/calls/call_context.h"

namespace calls {

// GuestCaller: the execution that makes calls. Exists as long as the execution. The policy is the policy that the
// execution began with.
struct GuestCaller : CallContext {
  std::string session = {};  // empty: no session
  bool is_staged = false;    // its changes of the workspace become a proposal
  uint32_t calls = 0;        // to upstream servers' tools, so far
  uint64_t bytes = 0;        // of the results of these calls
  bool run_is_kept = false;  // `run` was stored
  // The workflows whose steps it runs, by name; nullptr: it is about to get it.
  std::map<std::string, std::unique_ptr<workflows::UsedWorkflow>, std::less<>> workflows = {};
};

class GuestCalls {
 public:
  // The task is destroyed when the execution ends. So a change that must be complete has no co_await inside. The reply
  // of a handler with large answers has the length of the answer.
  using Handler = std::function<Task<Result<jail::CallReply>>(GuestCaller& caller, Json arguments)>;

  // `work` must outlive this object. Large arguments are freed there.
  explicit GuestCalls(Work& work) : work_(work) {}

  // Adds the handler of a name. Each name only once, while the daemon starts.
  void add(std::string name, Handler handler);
  // The caller must outlive the task.
  Task<Result<jail::CallReply>> call(GuestCaller& caller, std::string name, Json arguments) const;

 private:
  Work& work_;
  std::map<std::string, Handler, std::less<>> handlers_;
};

}  // namespace calls
