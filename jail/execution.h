// Execution: one program in one jail, from its code to its outcome. Knows nothing of MCP; a tenant is a name to it.
// Programs of a session (session.h) share a jail, one after the other.
// Source: supervisor/tools/execute_code.cc. Destroying the task cancels the execution: the jail is killed.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "jail/guest_message.h"
#include "jail/handle.h"
#include "jail/host.h"
#include "jail/image.h"
#include "jail/jail.h"
#include "jail/meter.h"
#include "jail/outcome.h"
#include "jail/pool.h"
#include "supervisor/base/json_value.h"

namespace jail {

struct Request {
  std::string id;  // of the execution; also the cgroup leaf's name
  std::string code;
  std::string context_vars;  // a JSON object; empty: none
  std::string trace;         // the program's TRACEPARENT, a checked one; empty: none
  Spec spec;
  std::string tenant;  // whose: jails that were forked for one tenant serve no other
  policies::PoolRules pool;
  std::string seccomp_profile;
  int workspace = -1;                                            // directory, borrowed while the task lives
  enum class Quota { account, project } quota = Quota::account;  // who refuses what the workspace is to hold no more

  // All optional. before_code: awaited before the interpreter gets the code. keep_*: takes the whole output as it
  // comes, false: no more. progressed: bytes of stdout so far and its last line. over_quota: asked every 50 ms while
  // the program runs; true ends it with outcome `disk`. call: answers a tool call of the guest. answered: told the
  // JSON text of what a call has given, as it goes to the guest.
  std::function<Task<>()> before_code;
  std::function<bool(std::string_view)> keep_out, keep_err;
  std::function<void(uint64_t bytes, std::string_view line)> progressed;
  std::function<bool()> over_quota;
  std::function<Task<Result<CallReply>>(std::string name, Json arguments)> call;
  std::function<void(std::string_view result)> answered;
  Handle* handle = nullptr;  // borrowed while the task lives

  uint32_t session_call = 0;  // which program of its session this is, from 1; 0: of none

  std::shared_ptr<const std::string> order;  // the run message, where it is large: execute() makes it
};

struct CapturedStream {
  std::string text;  // head, marker and tail when truncated; valid UTF-8
  uint64_t bytes = 0, lines = 0;
  bool truncated = false;
};

struct Report {
  Outcome outcome = Outcome::internal;
  Start start = Start::cold;
  std::string message;  // which limit, what to change; for the outcomes ok and error: advice, where there is some
  std::optional<Json> value;
  std::string value_type;                  // when value is only the text of something that JSON cannot hold
  std::string error, traceback;            // uncaught exception
  std::optional<int> exit_status, signal;  // how the program itself ended: one of them, where init could say
  uint64_t read_bytes = 0;  // of files of the workspace: the guest's own word, which is checked against nothing here
  std::vector<GuestImage> images;
  CapturedStream out, err;
  std::optional<uint32_t> left_running;  // processes that the program had started and that its end ended; 0: uncounted
  JailUsage usage;
  std::string receipt;  // a JSON object
};

// In a jail built for it. Errors: the jail could not be had (unavailable, denied). How the program ended is in the
// Report.
Task<Result<Report>> execute(Host& host, Request request);
// In a jail that waits, or else as above: under the same policy either way. A waiting jail that turns out to be dead or
// stopped is replaced; no program begins twice.
Task<Result<Report>> execute(Host& host, Pool& pool, Request request);

// What a program of a session leaves for the next one.
struct Kept {
  std::unique_ptr<Jail> jail;  // its interpreter waits; nullptr: none yet, or it has ended
  Origin origin;               // of the jail
};
// In kept.jail, for the first program in one as above. Cancelling ends the jail, as in every execution.
Task<Result<Report>> execute(Host& host, Pool& pool, Request request, Kept& kept);

}  // namespace jail
