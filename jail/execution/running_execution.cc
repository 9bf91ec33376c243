#include "jail/execution/running_execution.h"

#include <fmt/format.h>

#include "jail/execution/conclusion.h"
#include "jail/failed_step.h"
#include "supervisor/base/json/value_bytes.h"

namespace jail {
namespace {

using namespace std::chrono_literals;

constexpr auto kStartLimit = 60s;       // for jail and interpreter; whole seconds are needed only under emulation
constexpr double kBeginLimitMs = 5000;  // between sending the code to a waiting jail and its interpreter having read it
constexpr auto kWatchEvery = 50ms, kSendingEvery = 1ms;
constexpr size_t kPathParts = 6;  // of a receipt's path

tl::unexpected<Error> is_ending() { return fail(Code::unavailable, "this execution is ending"); }

}  // namespace

RunningExecution::RunningExecution(Host& host, Request& request, Jail& jail, const Origin& origin)
    : host_(host),
      request_(request),
      jail_(jail),
      origin_(origin),
      out_(
          {request.spec.limits.output_bytes, request.spec.limits.output_total_bytes}, request.keep_out,
          [this] { end(EndCause::output_limit); }, request.progressed),
      err_({request.spec.limits.output_bytes, request.spec.limits.output_total_bytes}, request.keep_err,
           [this] { end(EndCause::output_limit); }, {}),
      meter_(jail, host.trees, request.session_call > 1 ? Meter::Program::later : Meter::Program::first,
             request.values_use == Request::Values::read ? request.values : nullptr),
      clock_(host.loop, jail, request.spec.limits.wall,
             {[this] { end(EndCause::deadline); }, [this] { end(EndCause::cancelled); }, [this] { report_phase(); }}),
      calls_(host.loop) {
  report_.start = origin.start;
  report_.receipt.path_us.reserve(kPathParts);
  if (request_.handle) request_.handle->set_control(this);
}

RunningExecution::~RunningExecution() {
  leave_disk_users();  // of a cancelled execution; its jail still exists
  if (report_.value && is_large(*report_.value)) host_.work.free_elsewhere(*std::move(report_.value));
  if (request_.handle) request_.handle->set_control(nullptr);
}

Task<Result<Report>> RunningExecution::run() {
  marked_at_ = Monotonic::now();
  CO_CHECKED(check_not_cancelled());
  auto draining_out = start(out_.drain(jail_.out(), *share_));
  auto draining_err = start(err_.drain(jail_.err(), *share_));
  auto watching = start(watch());
  deadline_ = Deadline(host_.loop, kStartLimit, [this] { end(EndCause::deadline); });
  if (auto attached = co_await jail_.attach(request_.workspace); !attached) {
    const auto why = co_await why_not_attached(std::move(attached).error(), draining_err);
    co_return tl::unexpected<Error>(why);
  }
  report_attached();
  if (jail_.ready()) {
    if (auto before = std::exchange(request_.before_code, {})) co_await before();
    CO_CHECKED(co_await start_clock());
  }
  mark("prepare");
  auto talking = start(talk());
  // A cold jail gets the code before its interpreter is ready. An interpreter that finds code waiting skips its
  // warm-up, which would only delay the program.
  auto sending = start(send_code());

  // The receipt is filled while the interpreter works; make_report() makes its text.
  record_dispatch(report_.receipt, host_, jail_, request_, origin_, meter_.granted_bytes());
  auto reporting = start(await_report());
  co_await over_;
  // The task that fired over_ is still on the stack. If only the runner is left, its answer ends the execution.
  co_await next_turn(host_.loop);
  if (state_.is_finished()) clock_.let_go();  // one of its threads may wait for a person
  const double wall_ms = clock_.ran_ms();
  if (answers_session()) report_.remainder = co_await meter_.count_living();
  while (answers_session() && replies_.sending()) co_await sleep_for(host_.loop, kSendingEvery);  // no half message
  ending_ = choose_ending();
  if (ending_ == Ending::answer && jail_.staging() && request_.settles) {
    const bool must_end = co_await request_.settles(*jail_.staging());
    if (must_end) ending_ = Ending::exit;
  }
  if (ending_ != Ending::exit) co_return report_of_living_jail(wall_ms);

  jail_.guest().end_sending();
  co_await reporting;
  const double ended_ms = end_jail();
  co_await talking;
  (void)co_await sending;
  if (must_await_exit()) co_await jail_.exited();
  co_await draining_out;
  co_await draining_err;
  co_return report_of_ended_jail(ended_ms);
}

Result<> RunningExecution::check_not_cancelled() {
  if (!request_.handle || !request_.handle->cancelled()) return {};
  evidence_.ended = EndCause::cancelled;
  return fail(Code::denied, "cancelled by an administrator before it began");
}

// A jail that has ended cannot be attached to. The reason for its end is the better error message.
Task<Error> RunningExecution::why_not_attached(Error attach, Started<void>& draining_err) {
  jail_.kill();
  const auto report = co_await jail_.next_report();
  if (report && report->event == InitEvent::failed) co_return cannot_start(*report).value();
  if (!report) co_return attach;
  co_await draining_err;
  co_return did_not_start().value();
}

void RunningExecution::report_attached() {
  if (jail_.staging() && request_.staged) request_.staged(jail_.staging());
  if (jail_.listener() && request_.listens) request_.listens(jail_.listener().get());
  mark("attach");
}

// The report while the jail still lives: its runner, and in a session also other processes.
Report RunningExecution::report_of_living_jail(double wall_ms) {
  leave_disk_users();
  out_.drain_now(jail_.out());
  err_.drain_now(jail_.err());
  calls_.cancel_all();
  mark("drained");
  auto report = make_report(std::nullopt, wall_ms);
  if (ending_ == Ending::answer && report.usage.memory_peak_bytes <= TeardownQueue::kLittleBytes)
    remaining_ = TeardownQueue::Remainder::little;
  return report;
}

// The runner has ended, or the whole jail. Ends the processes that the program left behind. Returns the wall time.
double RunningExecution::end_jail() {
  mark("exited");
  const double wall_ms = clock_.ran_ms();
  deadline_ = Deadline();
  clock_.stop();
  jail_.kill();
  unanswered_.stop_waiting();
  return wall_ms;
}

// If the program left no process behind, only init is still there, and its end need not be awaited; except for a
// staged workspace, whose overlay is mounted until then.
bool RunningExecution::must_await_exit() const {
  return !init_report_ || init_report_->event != InitEvent::exited || init_report_->remaining_processes ||
         jail_.staging();
}

Result<Report> RunningExecution::report_of_ended_jail(double wall_ms) {
  leave_disk_users();
  calls_.cancel_all();
  mark("drained");
  if (init_report_ && init_report_->event == InitEvent::failed) return cannot_start(*init_report_);
  if (!state_.has_started() && !init_report_ && !is_stopped()) return tl::unexpected<Error>(ended_before_program());
  if (!state_.has_started() && evidence_.ended != EndCause::cancelled) return did_not_start();
  return make_report(init_report_, wall_ms);
}

Result<> RunningExecution::freeze() {
  CHECKED(check_freezable());
  if (state_.is_finished()) return is_ending();
  return clock_.freeze();
}

Result<> RunningExecution::thaw() {
  CHECKED(check_freezable());
  return clock_.thaw();
}

void RunningExecution::hold() {
  if (state_.has_started() && !is_stopped() && !state_.is_finished()) clock_.hold();
}

Result<> RunningExecution::change(const LimitChange& change) {
  if (is_stopped() || state_.is_finished()) return is_ending();
  const bool of_cgroup = change.memory_bytes || change.tasks || change.cpus;
  if (of_cgroup && request_.session_call > 0)
    return fail(Code::unavailable,
                "the limits of this session were fixed at its start; only its wall time can be changed");
  if (of_cgroup && !jail_.cgroup())
    return fail(Code::unavailable, "no cgroup counts this execution: only its wall time can be changed",
                "run the daemon where cgroup v2 is delegated to it");
  const policies::Limits limits = changed_limits(request_.spec.limits, change);
  // Before the clock runs, its start applies the limits.
  if (state_.has_started() && of_cgroup) CHECKED(jail_.cgroup().set(cgroup_limits_of(limits, meter_.granted_bytes())));
  request_.spec.limits = limits;
  clock_.limit_changed();
  return {};
}

LiveUsage RunningExecution::usage() const {
  LiveUsage now = sampled_;
  now.wall_ms = clock_.ran_ms();
  return now;
}

bool RunningExecution::never_started() const {
  if (origin_.start == Start::cold || request_.session_call > 1 || evidence_.ended == EndCause::cancelled) return false;
  return state_.lacks_code() || (!state_.was_started() && jail_.guest().left_unread());
}

void RunningExecution::mark(const char* part) {
  auto now = Monotonic::now();
  report_.receipt.path_us.emplace_back(part, static_cast<uint32_t>(ms_since(marked_at_) * 1000));
  marked_at_ = now;
}

void RunningExecution::report_phase() {
  if (request_.handle) request_.handle->enter(clock_.is_frozen() ? Phase::frozen : Phase::running);
}

Result<> RunningExecution::check_freezable() const {
  if (!state_.has_started() || is_stopped()) return fail(Code::unavailable, "no code of this execution runs now");
  if (jail_.cgroup()) return {};
  return fail(Code::unavailable, "no cgroup holds this execution, so it cannot be frozen",
              "run the daemon where cgroup v2 is delegated to it");
}

bool RunningExecution::advance(ExecutionEvent event) {
  const auto next = next_state(state_, event);
  if (next) {
    state_ = *next;
  } else {
    violation("an unexpected message");
  }
  return next.has_value();
}

void RunningExecution::end(EndCause why) {
  if (!is_stopped()) evidence_.ended = why;
  (void)advance(ExecutionEvent::stop);
  jail_.kill();
}

void RunningExecution::violation(std::string reason) {
  violation_ = std::move(reason);
  end(EndCause::protocol);
}

tl::unexpected<Error> RunningExecution::cannot_start(const InitReport& report) const {
  return tl::unexpected<Error>(failed_step(report.step, report.error, interpreter_of(request_.spec.language)));
}

// The error holds the last bytes that the interpreter wrote to stderr.
tl::unexpected<Error> RunningExecution::did_not_start() const {
  std::string message = err_.last(300);
  while (message.ends_with('\n')) message.pop_back();
  return fail(Code::unavailable,
              fmt::format("the {} interpreter did not start{}{}", language_name(request_.spec.language),
                          message.empty() ? "" : ": ", message));
}

Task<Result<>> RunningExecution::start_clock() {
  CO_CHECKED(co_await meter_.begin(request_.spec.limits, origin_.start));
  deadline_ = Deadline();
  clock_.start();
  join_disk_users();
  (void)advance(ExecutionEvent::interpreter_ready);
  if (request_.handle) request_.handle->enter(Phase::running);
  co_return Result<>{};
}

void RunningExecution::join_disk_users() {
  if (!request_.disk) return;
  jail_.use_disk(*std::move(request_.disk));
  DiskUse* const use = jail_.disk_use();
  if (use == nullptr) return;
  uses_disk_ = true;
  use->set_pace(DiskUse::kProgram);
  use->set_end([this] { end(EndCause::disk_floor); });
}

// Files of a session count until its end.
void RunningExecution::leave_disk_users() {
  if (!std::exchange(uses_disk_, false) || jail_.disk_use() == nullptr) return;
  if (goes_on()) {
    jail_.disk_use()->set_end({});
  } else {
    jail_.stop_using_disk();
  }
}

Task<> RunningExecution::watch() {
  const auto& limits = request_.spec.limits;
  for (;;) {
    co_await sleep_for(host_.loop, kWatchEvery);
    if (is_stopped()) {
      jail_.kill();  // again, because the jailer's queue may have been full
      continue;
    }
    if (state_.has_started() && never_started() && clock_.ran_ms() > kBeginLimitMs) end(EndCause::deadline);
    const Meter::MeterReading scan = co_await meter_.inspect(limits.memory_bytes);
    if (is_stopped()) continue;
    if (scan.tree.is_read) clock_.inspect(scan.tree.cpu_us);
    sampled_ = {0, {}, scan.memory_bytes, scan.tasks};
    if (state_.has_started()) jail_.lower_priority(priority_, scan.tree);
    if (scan.cpu_us) sampled_.cpu_ms = static_cast<double>(*scan.cpu_us) / 1000;
    if (state_.has_started() && limits.cpu.count() > 0 &&
        scan.cpu_us.value_or(0) > static_cast<uint64_t>(limits.cpu.count()) * 1000)
      end(EndCause::cpu_limit);
    if (!jail_.cgroup() && scan.memory_bytes > limits.memory_bytes) end(EndCause::memory_watch);
    if (state_.has_started() && request_.over_quota && request_.over_quota()) end(EndCause::disk_limit);
  }
}

Task<> RunningExecution::await_report() {
  init_report_ = co_await jail_.next_report();
  (void)advance(ExecutionEvent::init_report);
  over_.fire();
}

RunningExecution::Ending RunningExecution::choose_ending() {
  if (answers_session()) return Ending::next_program;
  if (!state_.outlives_program()) return Ending::exit;
  // If only the runner is left, its usage can be read before the jail ends. Node has helper threads. When its event
  // loop is empty, no thread of the program is left.
  const bool is_alone = meter_.is_alone(runs_in_node(request_.spec.language) ? Threads::any : Threads::one);
  return is_alone ? Ending::answer : Ending::exit;
}

Report RunningExecution::make_report(const std::optional<InitReport>& report, double wall_ms) {
  evidence_.jailer_exited = !report && host_.jailer.is_gone();
  if (report && report->event == InitEvent::exited) {
    evidence_.wait_status = report->wait_status;
    count_left_running(report_, *report, request_.spec.limits.tasks);
  }
  if (!report && state_.is_finished()) evidence_.wait_status = answered_status_ << 8;  // as wait(2) will encode it
  report_.usage.wall_ms = wall_ms;
  meter_.end(report, report_.usage, evidence_);
  conclude(report_, evidence_, {request_, out_, err_, violation_, static_cast<bool>(jail_.cgroup())});
  report_.receipt_json = receipt_json(report_.receipt);
  return std::move(report_);
}

}  // namespace jail
