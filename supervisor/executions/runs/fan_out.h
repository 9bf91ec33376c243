// FanOut: one call of execute_code with `fork`, a list of items. The code runs once for each item, with the variable
// `item`, in a single-use jail of its own: a branch. Branches run side by side, each with a place of its own in the
// Admission. The call asks for one place after the other and holds none itself, so it cannot wait for its own end.
// A branch is an execution in the registry, the journal and the statistics; the branch of item 3 of the call e12ab has
// the id e12ab-3. The call itself is in the registry only, as long as it lasts, so that it can be cancelled: its
// branches end with it. timeout_seconds is for all branches together, from the moment the first one has its place.
// With `session`, the branches have the values of that session which the code names (jail/shared_values.h). The call
// has the session's turn until its last branch has ended, because the session's limit pays for these values. The
// session itself stays as it is. Source: execute.cc. Destroying the task of run() kills all jails. Errors: those
// of read_execute_request() and of Admission::enter() before a branch has begun, and invalid or denied (`fork`). Later
// failures belong to one branch.
#pragma once
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "supervisor/base/large_value.h"
#include "supervisor/base/one_shot.h"
#include "supervisor/executions/execution_recording.h"
#include "supervisor/executions/runs/code_execution.h"
#include "supervisor/executions/runs/execute_request.h"

namespace runs {

class FanOut {
 public:
  // All that is referred to must outlive it. `recording`: of the call.
  FanOut(ExecuteEnvironment& environment, calls::CallContext caller, executions::ExecutionRecording& recording,
         executions::ExecutionRecording::Books books);
  ~FanOut();
  FanOut(const FanOut&) = delete;

  Task<Result<mcp::ToolResult>> run(Json arguments);
  // Whether a program may have begun. Asked after an error.
  ProgramRan ran() const { return running_ + done_ == 0 ? ProgramRan::no : ProgramRan::maybe; }

 private:
  // Why no more branch begins.
  struct Over {
    std::string outcome;  // of the branches that have not begun
    Error why;
  };
  struct EndedBranch {
    std::optional<mcp::ToolResult> result;  // nullopt: it has not begun, or not ended
    bool succeeded = false;
  };

  void announce();
  Task<Result<>> write_inputs(FreedBeside items, FreedBeside variables);
  void share_limits();
  Task<Result<>> share_session(const std::string& name);
  Result<> check_shared(jail::Report& report);
  Task<Result<>> run_branches();
  Task<Result<executions::Admission::Permit>> next_slot();
  void begin_clock();
  void stop(Over over);
  void cancel();
  Task<> run_branch(size_t index, executions::Admission::Permit permit);
  Task<EndedBranch> end_of_branch(size_t index, executions::Admission::Permit permit);
  jail::Request request_of(size_t index) const;
  Task<> await_news();
  void notify();
  EndedBranch not_started() const;
  mcp::ToolResult answer();

  ExecuteEnvironment& environment_;
  calls::CallContext caller_;
  executions::ExecutionRecording& recording_;
  const executions::ExecutionRecording::Books books_;
  ExecutionProgress progress_;
  ExecuteRequest request_;
  std::vector<std::string> variable_names_;  // names of variables that branches do not take from the session
  std::string variables_;                    // the JSON object of context_vars, without its end
  std::vector<std::string> items_;           // as JSON
  std::vector<EndedBranch> ended_;           // by item; empty until the first branch begins
  uint64_t result_bytes_ = 0;                // of one branch, in the answer
  size_t at_once_ = 1;                       // branches; more would hold too much memory
  size_t running_ = 0, done_ = 0;
  std::optional<Over> over_;
  Monotonic::time_point started_at_;
  Deadline deadline_;
  OneShot<>::Resolver news_;
  std::map<size_t, executions::ExecutionRecord*> living_;
  std::optional<executions::Sessions::Turn> turn_;
  Json shared_;  // {names, bytes}: what the session shared, as its guest says; null: no session
  std::optional<Started<void>> sending_;  // these are last: they use the members above
  Scope branches_;
};

}  // namespace runs
