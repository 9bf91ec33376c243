// ExecuteAnswer: the parts of an answer of execute_code. The answer has one text block of compact JSON, image blocks,
// links to created files, and, where it is asked for, the receipt in _meta. Used by: code_execution.cc, fan_out.cc,
// execute.cc. Keys: success, result (or result_begins of a stored one), output (lines), execution_time_ms; on failure
// error, traceback, rule, remedy; always outcome, and execution_id if the execution began; with the outcome internal
// may_have_run; session, stderr, exit_status, signal, usage, egress, files, proposal, changed_meanwhile, truncated,
// clamped, notes if they say something (exit_status: not 0, after an error not 1); in a refusal code. `success` is
// about the program, the protocol's isError about the tool: they differ if the policy takes the exit status 1 of a
// shell program for an answer.
#pragma once
#include <string>
#include <vector>

#include "jail/image.h"
#include "jail/talk/guest_message.h"
#include "policies/answer_rules.h"
#include "policies/limits.h"
#include "policies/policy_fwd.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/executions/runs/execution_network.h"
#include "supervisor/executions/runs/ignored_files.h"
#include "supervisor/protocol/mcp/content.h"
#include "supervisor/tenants/index/changes.h"

namespace jail {
struct Report;
}

namespace runs {

// call: a whole answer. branch: an element of the answer of a fan-out (fan_out.h): without `success`, which `outcome`
// says, without execution_time_ms, which `usage` says, and without empty output.
enum class AnswerForm { call, branch };

// StoredValue: a result that was too large for the answer, and is a resource instead.
struct StoredValue {
  jail::ValueForm form = jail::ValueForm::json;
  std::string begins;  // the first bytes
  uint64_t bytes = 0;
  std::string uri;
};

struct ExecuteAnswer {
  std::string execution_id;
  const jail::Report* report = nullptr;
  AnswerForm form = AnswerForm::call;
  std::string result;  // report->value as JSON text, if the value is large; report->value may be null then
  std::optional<StoredValue> stored;            // instead of `result`
  uint64_t out_left_out = 0, err_left_out = 0;  // bytes of the middle of stdout and stderr that are not stored
  const tenants::Changes* changes = nullptr;    // nullptr: not known
  const tenants::Changes* meanwhile = nullptr;  // while another execution ran; nullptr: absent
  IgnoredFiles ignored;                         // of the workspace, if files have changed
  std::vector<policies::Clamp> clamped;
  std::optional<Error> quota;            // the error of the outcome `disk` if the workspace is full
  Json session;                          // the call's session: {name, ...}; null: no session
  std::optional<NetworkTotals> network;  // what the code did with its network; nullopt: absent
  std::vector<RefusedRequest> refused;   // requests to hosts
  Json proposal;                         // of a staged workspace: {id, state, ...}; null: absent
  std::vector<jail::GuestImage> images;  // from the guest, and from files that the program wrote
  policies::ShellExit1 shell_exit_1 = policies::ShellExit1::error;  // other languages than shell: error
  bool has_receipt = false;        // the receipt is in _meta, and `usage` has all that was measured
  std::vector<std::string> notes;  // sentences for the agent, beside the result
};
// The key of a request's _meta that asks for the receipt, and of an answer's _meta that has it.
constexpr char kReceiptKey[] = "org.warder/receipt";
// Whether the request's _meta, or the policy, asks for the receipt in the answer.
bool wants_receipt(const Json& meta, const policies::Policy& policy);
mcp::ToolResult make_answer(const ExecuteAnswer& answer);
// The value of `clamped`: [{name, asked, given}].
Json clamped_json(const std::vector<policies::Clamp>& clamped);

// The answer in the same form, for a call without a program's report. If the program did not run, the codes denied,
// exhausted, invalid and not_found have the outcome `denied`. All other errors have the outcome `internal` and the key
// `may_have_run`. `execution_id` is empty for an execution that never began: the journal has no entry for it.
enum class ProgramRan { no, maybe };
mcp::ToolResult make_refusal(const std::string& execution_id, const Error& error, ProgramRan ran = ProgramRan::no,
                             AnswerForm form = AnswerForm::call);

}  // namespace runs
