// Execution: one program in one jail, from its code to its outcome. It does not know MCP; a tenant is only a name here.
// The programs of one session (session.h) run in the same jail, one after the other.
// Used by: supervisor/executions/runs/code_execution.cc, jail/execution/session.cc, jail/execution/self_test.cc.
// Destroying the task cancels the execution: its jail is killed.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "jail/execution/handle.h"
#include "jail/execution/jail_usage.h"
#include "jail/execution/outcome.h"
#include "jail/execution/receipt.h"
#include "jail/image.h"
#include "jail/spec.h"
#include "jail/talk/guest_message.h"
#include "jail/usage/disk_users.h"
#include "jail/workspace_mount.h"
#include "policies/pool_rules.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/result.h"
#include "supervisor/base/task.h"

namespace jail {

struct Host;
class Jail;
class Pool;
class SharedValues;

struct Request {
  std::string id;  // the execution's id; also the name of the cgroup leaf
  std::string code;
  std::string context_vars;  // a JSON object; empty: no variables
  std::string trace;         // the program's TRACEPARENT, already checked; empty: no trace
  Spec spec;
  std::string tenant;  // the owner; a jail that was forked for one tenant serves no other
  policies::PoolRules pool;
  std::string seccomp_profile;
  WorkspaceMount workspace;  // its directory is borrowed while the task runs
  // account: the daemon counts the workspace's bytes. project: the kernel refuses bytes beyond the project's limit,
  // too.
  enum class Quota { account, project } quota = Quota::account;

  // All callbacks are optional. before_code: awaited before the interpreter gets the code. keep_out, keep_err: get the
  // whole output part by part; false stops them. progressed: gets the bytes of stdout so far and its last line.
  // over_quota: called every 50 ms while the program runs; true ends it with outcome `disk`. call: answers a tool call
  // of the guest. answered: gets the JSON text of each call's result, as the guest gets it.
  std::function<Task<>()> before_code;
  // keep_value: gets a result that is too large for a message, part by part; without it the program fails instead.
  std::function<bool(std::string_view)> keep_out, keep_err;
  std::function<Result<>(std::string_view part)> keep_value;
  std::function<void(uint64_t bytes, std::string_view line)> progressed;
  std::function<bool()> over_quota;
  // The account of what the program takes of the disk; of a session, that of its first program. Empty: the program's
  // jail is not in Host::disk_users.
  std::optional<DiskAccount> disk;
  // staged: called with the folder that gets the changes, before the program begins. settles: awaited when the program
  // has answered and its jail could be left to end by itself. True: the jail must have ended before the answer, so that
  // no process of it changes the staged files any more.
  std::function<Task<Result<CallReply>>(std::string name, Json arguments)> call;
  std::function<Task<bool>(const OverlayFolder& staging)> settles;
  std::function<void(const std::shared_ptr<OverlayFolder>& staging)> staged;
  std::function<void(std::string_view result)> answered;
  // Called with the jail's listener, if its Spec has one, before the program begins. The descriptor is open until the
  // jail has ended.
  std::function<void(int listener)> listens;
  Handle* handle = nullptr;  // borrowed while the task runs

  uint32_t session_call = 0;  // number of this program in its session, from 1; 0: no session

  // write: the order makes no program run: a session's guest writes into `values` what `code` names, except the names
  // in context_vars; its result is {names, bytes}. read: the program gets the values.
  enum class Values { none, write, read } values_use = Values::none;
  std::shared_ptr<const SharedValues> values;

  std::shared_ptr<const std::string> order;  // the run message, if it is large; execute() makes it
};

struct CapturedStream {
  std::string text;  // as a terminal shows it; head, marker and tail when truncated; valid UTF-8
  uint64_t bytes = 0, lines = 0;
  bool truncated = false;
  bool overwritten = false;  // text of lines that were written again is not in `text` (terminal_text.h)
};

struct Report {
  Outcome outcome = Outcome::internal;
  Start start = Start::cold;
  std::string message;         // which limit, and what to change; for the outcomes ok and error: advice, or empty
  bool at_disk_floor = false;  // outcome disk: because the disk of all tenants was nearly full
  std::optional<Json> value;
  std::string value_type;                  // when `value` is only a text, because JSON cannot hold the value
  ValueForm value_form = ValueForm::none;  // of a value that `keep_value` got, instead of `value`
  std::string error, traceback;            // uncaught exception
  std::optional<int> exit_status, signal;  // of the program itself; one of them is set, if init reported the end
  LeftUsage remainder;                     // of a session
  uint64_t read_bytes = 0;                 // from files of the workspace; the guest's own number, unchecked
  std::vector<GuestImage> images;
  CapturedStream out, err;
  std::optional<uint32_t> left_running;  // processes that the program left, ended with it; 0: some, uncounted
  JailUsage usage;
  Receipt receipt;
  std::string receipt_json = "{}";  // the receipt as text, made when the program has ended; "{}": there was no jail
};

// Runs the program in a new jail. Errors: unavailable or denied, when there is no jail for it. How the
// program ended is in the Report.
Task<Result<Report>> execute(Host& host, Request request);
// Runs the program in a waiting jail of the pool; if none fits, in a new jail. The policy applied is the same.
// A dead or stopped waiting jail is replaced. No program begins twice.
Task<Result<Report>> execute(Host& host, Pool& pool, Request request);

// What one program of a session leaves for the next program.
struct SessionJail {
  std::unique_ptr<Jail> jail;  // its interpreter waits; nullptr: not built yet, or ended
  Origin origin;               // how the session came by the jail
};
// Runs the program in kept.jail; the session's first program gets a jail as above. Cancelling the task ends the jail.
Task<Result<Report>> execute(Host& host, Pool& pool, Request request, SessionJail& jail);

}  // namespace jail
