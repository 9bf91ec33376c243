// RunningExecution: one program while it runs in its jail: its clocks and limits, its talk with the daemon, its end.
// The object is in the frame of execute(); its tasks are cancelled when it is destroyed.
// Source: jail/execution/execution.cc makes one for each jail that gets the program. running_execution.cc has the way
// from the attached workspace to the report, and the handle's side; execution_talk.cc the messages of the runner.
// Errors: those of execute(), when there is no jail for the program.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "jail/execution/execution.h"
#include "jail/execution/execution_state.h"
#include "jail/execution/meter.h"
#include "jail/execution/wall_clock.h"
#include "jail/pool/teardown_queue.h"
#include "jail/talk/capture.h"
#include "jail/talk/replies.h"
#include "jail/talk/unanswered_calls.h"
#include "jail/usage/code_priority.h"
#include "supervisor/base/clock.h"

namespace jail {

class RunningExecution final : public ExecutionControl {
 public:
  // All references must outlive this object.
  RunningExecution(Host& host, Request& request, Jail& jail, const Origin& origin);
  ~RunningExecution();

  // Runs the program to its end, once. How the program ended is in the Report.
  Task<Result<Report>> run();

  // True if the jail came from the pool and its interpreter never read the whole run message: no code ran.
  bool never_started() const;
  TeardownQueue::Remainder remainder() const { return remaining_; }  // content of the jail now
  // True if the program has ended and its interpreter waits for the session's next program.
  bool goes_on() const { return ending_ == Ending::next_program; }

  void cancel() override { end(EndCause::cancelled); }
  Result<> freeze() override;
  Result<> thaw() override;
  void hold() override;
  void release() override { clock_.release(); }
  Result<> change(const LimitChange& change) override;
  LiveUsage usage() const override;

 private:
  // The three ends of an execution.
  enum class Ending {
    exit,          // the jail is over, or will be: the runner's exit is awaited
    answer,        // the program answered, and only its runner is left: the jail ends after the answer
    next_program,  // a program of a session answered: the jail stays, with all its processes
  };

  // The steps of run(). `draining_err`: the task that reads stderr.
  Result<> check_not_cancelled();
  Task<Error> why_not_attached(Error attach, Started<void>& draining_err);
  void report_attached();
  Report report_of_living_jail(double wall_ms);
  double end_jail();
  void join_disk_users();
  void leave_disk_users();
  bool must_await_exit() const;
  Result<Report> report_of_ended_jail(double wall_ms);

  // Records for the receipt how long this part of the execution took.
  void mark(const char* part);
  bool is_stopped() const { return evidence_.ended != EndCause::by_itself; }
  void report_phase();
  Result<> check_freezable() const;
  Work::Owner owner() const { return {request_.tenant, request_.spec.limits.json_bytes_per_second}; }

  // Moves the state. False: the state does not allow the event, and the execution ends with the outcome `protocol`.
  bool advance(ExecutionEvent event);
  // Kills the jail. The first cause of an end counts.
  void end(EndCause why);
  void violation(std::string reason);

  tl::unexpected<Error> cannot_start(const InitReport& report) const;
  tl::unexpected<Error> did_not_start() const;
  // The interpreter is ready. From here on, time and the cgroup's charges count for the program.
  Task<Result<>> start_clock();
  // Enforces what no kernel limit does: CPU time of the jail, quota without project quotas, memory without cgroups.
  Task<> watch();
  Task<> await_report();
  // True if a program of a session answered; other processes may still be in the jail.
  bool answers_session() const { return request_.session_call > 0 && state_.outlives_program(); }
  Ending choose_ending();
  Report make_report(const std::optional<InitReport>& report, double wall_ms);

  Task<Result<>> send_code();
  // Reads the runner's messages until its socket closes.
  Task<> talk();
  template <class Message>
  void not_understood(const Result<Message>& message);
  // Handles one message. False: no further message is to be read.
  bool take(Result<GuestMessage>&& message, size_t bytes);
  void take_result(GuestResult result);
  Task<> answer(GuestCall call, size_t bytes);
  Result<CallReply> keep_value(const Json& arguments);

  Host& host_;
  Request& request_;
  Jail& jail_;
  const Origin& origin_;
  Capture out_, err_;
  Report report_;
  Evidence evidence_;
  Event over_;
  ExecutionState state_;
  std::optional<InitReport> init_report_;
  int answered_status_ = 0;  // ProgramState::finished: the runner is about to exit with this status
  std::string violation_;
  Ending ending_ = Ending::exit;
  TeardownQueue::Remainder remaining_ = TeardownQueue::Remainder::anything;
  LiveUsage sampled_;
  Meter meter_;
  CodePriority priority_;
  WallClock clock_;
  Monotonic::time_point marked_at_;
  UnansweredCalls unanswered_{host_.loop};
  const std::shared_ptr<LoopShare> share_{host_.shares.of(request_.tenant)};
  Replies replies_{jail_.guest(), host_.replies, host_.work, owner(), request_.answered};
  Deadline deadline_;
  bool uses_disk_ = false;    // the jail's DiskUse ends this execution
  uint64_t accepted_ = 0;     // calls; each has one reply
  uint64_t value_bytes_ = 0;  // bytes of a value that came in parts
  Scope calls_;               // last: cancelled first
};

}  // namespace jail
