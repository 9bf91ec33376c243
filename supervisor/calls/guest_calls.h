// GuestCalls: what jailed code may ask of the daemon by name, and who answers.
// Source: the guest protocol's `call`, as hostile as everything from a jail: a handler checks its arguments wholly.
// Errors: not_found for a name nobody answers.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "jail/guest_message.h"
#include "policies/policy.h"
#include "supervisor/base/json_value.h"
#include "supervisor/base/result.h"
#include "supervisor/base/task.h"
#include "supervisor/calls/on_behalf.h"
#include "supervisor/tenants/tenant.h"

namespace calls {

// An execution's calls to upstream servers' tools: on whose behalf, and what they have used up.
struct NestedCalls {
  Who who;
  uint32_t calls = 0;
  uint64_t bytes = 0;  // of results
};

// For whom a call acts; ends with the execution. The policy is the one the execution began with.
struct GuestCaller {
  tenants::Tenant& tenant;
  const policies::Policy& policy;
  const std::string& execution;
  std::string_view session = {};  // empty: none
  NestedCalls* nested = nullptr;  // nullptr: it may call none
};

class GuestCalls {
 public:
  // The task is destroyed when the execution ends: what must be whole is done between two awaits.
  using Handler = std::function<Task<Result<Json>>(const GuestCaller& caller, Json arguments)>;
  using LargeHandler = std::function<Task<Result<jail::CallReply>>(const GuestCaller& caller, Json arguments)>;

  // The work must outlive it: what is large and not wanted is freed there.
  explicit GuestCalls(JsonWork& json) : json_(json) {}

  // Each name once, while the daemon starts. Who answers what may have many values says how long it is.
  void add(std::string name, Handler handler);
  void add_large(std::string name, LargeHandler handler);
  // The caller must outlive the task.
  Task<Result<jail::CallReply>> call(const GuestCaller& caller, std::string name, Json arguments) const;

 private:
  JsonWork& json_;
  std::map<std::string, LargeHandler, std::less<>> handlers_;
};

}  // namespace calls
