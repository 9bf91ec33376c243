// CodeExecution: one call of execute_code, from its arguments to its answer.
// Source: execute.cc. Destroying the task of run() kills the jail. Errors: the call is refused before a program
// runs, or the jail fails; execute.cc makes an answer of them. A program that fails is an answer, not an error.
#pragma once
#include <time.h>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "jail/execution/execution.h"
#include "supervisor/base/large_value.h"
#include "supervisor/executions/execution_recording.h"
#include "supervisor/executions/runs/execute_answer.h"
#include "supervisor/executions/runs/execute_environment.h"
#include "supervisor/executions/runs/execution_network.h"
#include "supervisor/executions/runs/execution_progress.h"
#include "supervisor/executions/workspace_guard.h"
#include "supervisor/upstream/calls/guest_calls.h"

namespace runs {

class CodeExecution {
 public:
  // All that is referred to must outlive it. The policy of `caller` is the one that this execution began with.
  CodeExecution(ExecuteEnvironment& environment, calls::CallContext caller, executions::ExecutionRecording& recording);
  ~CodeExecution();
  CodeExecution(const CodeExecution&) = delete;

  Task<Result<mcp::ToolResult>> run(Json arguments);

  // One branch of a fan-out (fan_out.h), with the place that its call got for it.
  struct Branch {
    jail::Request request;
    executions::Admission::Permit permit;
    uint64_t result_bytes = 0;  // the most that its value, and its images, may have in the answer
  };
  Task<Result<mcp::ToolResult>> run_branch(Branch branch);
  // Whether the program ended with the outcome `ok`.
  bool succeeded() const { return succeeded_; }
  // Whether a program may have begun. Asked after an error.
  ProgramRan ran() const { return ran_; }

 private:
  struct Session {  // what the execution's session needs to know at its end
    std::string name, code;
  };
  void announce(const jail::Request& request);
  executions::Sessions::Ask session_request(const Json& arguments, const jail::Request& request) const;
  Task<Result<mcp::ToolResult>> end_session(const Json& arguments, const jail::Request& request);
  Task<Result<mcp::ToolResult>> run_in_place(jail::Request request);
  Task<Result<>> wait_for_slot(const Json& arguments, jail::Request& request);
  Task<Result<>> write_variables(FreedBeside variables, jail::Request& request);
  Task<Result<>> stage_workspace(jail::Request& request);
  Task<Result<>> admit_to_workspace(jail::Request& request);
  void connect(jail::Request& request);
  proposals::ProposalAbout about() const;  // of this execution
  Task<Result<jail::Report>> run_program(jail::Request request);
  Task<Result<jail::Report>> run_in_jail(jail::Request request);
  Task<Result<mcp::ToolResult>> answer(jail::Report report);
  Task<> take_result(jail::Report& report, ExecuteAnswer& answer);
  void store_text(jail::Report& report, ExecuteAnswer& answer);
  void take_stored(jail::ValueForm form, ExecuteAnswer& answer) const;
  Task<IgnoredFiles> ignored_files(const ExecuteAnswer& answer) const;
  void limit_branch_output(jail::Report& report, ExecuteAnswer& answer);
  void take_effects(const executions::WorkspaceEffects& effects, jail::Report& report, ExecuteAnswer& answer);
  Task<> take_proposal(executions::WorkspaceEffects& effects, jail::Report& report, ExecuteAnswer& answer);
  void add_advice(jail::Report& report, ExecuteAnswer& answer) const;
  void log_session(const jail::Report& report, const ExecuteAnswer& answer) const;
  journal::Ledger ledger_of(const mcp::ToolResult& result, uint64_t read_tokens) const;
  Task<Result<std::string>> write_json(Json value) const;

  ExecuteEnvironment& environment_;
  calls::GuestCaller caller_;
  executions::ExecutionRecording& recording_;
  std::vector<policies::Clamp> clamped_;
  std::vector<std::string> code_notes_;  // ExecuteRequest::notes
  jail::Language language_ = jail::Language::python;
  ProgramRan ran_ = ProgramRan::no;
  AnswerForm form_ = AnswerForm::call;
  uint64_t branch_bytes_ = 0;   // Branch::result_bytes
  timespec program_started_{};  // by the clock of file times
  bool succeeded_ = false;
  ExecutionProgress progress_;
  Session session_;  // empty: the execution has no session
  std::optional<executions::Sessions::Turn> turn_;
  std::optional<executions::Admission::Permit> permit_;
  executions::WorkspaceGuard workspace_;
  std::unique_ptr<ExecutionNetwork> network_;  // nullptr: its policy has no egress rules
  std::optional<Started<void>> sending_;       // last: it uses the members above
};

}  // namespace runs
