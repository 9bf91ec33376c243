// The answer of execute_code: one text block of compact JSON, image blocks, links to files that were made, and the
// receipt in _meta.
// Keys: success, result, output (lines), execution_time_ms; on failure error, traceback, rule, remedy; always
// execution_id and outcome; with the outcome internal may_have_run; session, stderr, exit_status, signal, usage, files,
// truncated, clamped, notes where they say something. `success` is about the program, the protocol's isError about the
// tool: they differ where the status 1 of a shell program is an answer.
#pragma once
#include <string>
#include <vector>

#include "jail/execution.h"
#include "policies/limits.h"
#include "policies/policy.h"
#include "supervisor/base/json_value.h"
#include "supervisor/mcp/content.h"
#include "supervisor/tenants/changes.h"

namespace tools {

struct ExecuteAnswer {
  std::string execution_id;
  const jail::Report* report = nullptr;
  std::string result;                         // report->value as JSON, where that is large; it may be empty itself then
  const tenants::Changes* changes = nullptr;  // nullptr: not known
  std::vector<policies::Clamp> clamped;
  std::optional<Error> quota;            // what to say of the outcome `disk` where the workspace is full
  Json session;                          // of what the call was a part; null: of none
  std::vector<jail::GuestImage> images;  // the guest's and files' that the program wrote
  policies::ShellExit1 shell_exit_1 = policies::ShellExit1::error;  // of a shell program; others' is an error
  std::vector<std::string> notes;                                   // what the agent should know beside the result
};
mcp::ToolResult make_answer(const ExecuteAnswer& answer);

// The same shape for a call without a program's answer. denied and invalid keep their outcome; the rest is `internal`,
// and says whether the program may have run. `execution_id` is empty for one that never began: nothing is kept of it.
enum class Ran { no, maybe };
mcp::ToolResult make_refusal(const std::string& execution_id, const Error& error, Ran ran = Ran::no);

}  // namespace tools
