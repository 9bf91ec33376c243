#include "jail/execution.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>

#include "jail/advice.h"
#include "jail/capture.h"
#include "jail/failed_step.h"
#include "jail/guest_message.h"
#include "jail/receipt.h"
#include "jail/replies.h"
#include "jail/run_message.h"
#include "jail/unanswered_calls.h"
#include "jail/wall_clock.h"
#include "supervisor/base/clock.h"
#include "supervisor/base/log.h"
#include "supervisor/base/value_bytes.h"

namespace jail {
namespace {

using namespace std::chrono_literals;

constexpr auto kStartLimit = 60s;       // for jail and interpreter; whole seconds are needed only under emulation
constexpr double kBeginLimitMs = 5000;  // between sending the code to a waiting jail and its interpreter having read it
constexpr auto kWatchEvery = 50ms, kSendingEvery = 1ms;
constexpr size_t kMostCalls = 200;   // calls without a sent answer; the runners stay below this number
constexpr size_t kAdvisedOn = 4096;  // bytes at the end of the program's output that are searched for a cause

// One running execution. The object is in the frame of execute(). Its tasks are cancelled when it is destroyed.
class Execution final : public Steered {
 public:
  Execution(Host& host, Request& request, Jail& jail, const Origin& origin)
      : host_(host),
        request_(request),
        jail_(jail),
        origin_(origin),
        out_(
            {request.spec.limits.output_bytes, request.spec.limits.output_kept_bytes}, request.keep_out,
            [this] { end(EndCause::output_limit); }, request.progressed),
        err_({request.spec.limits.output_bytes, request.spec.limits.output_kept_bytes}, request.keep_err,
             [this] { end(EndCause::output_limit); }, {}),
        meter_(jail, request.session_call > 1 ? Meter::Program::later : Meter::Program::first),
        clock_(host.loop, jail, meter_, request.spec.limits.wall,
               {[this] { end(EndCause::deadline); }, [this] { end(EndCause::cancelled); }, [this] { tell_phase(); }}),
        calls_(host.loop) {
    report_.start = origin.start;
    if (request_.handle) request_.handle->steer(this);
  }
  ~Execution() {
    if (report_.value && is_large(*report_.value)) host_.json.free_elsewhere(*std::move(report_.value));
    if (request_.handle) request_.handle->steer(nullptr);
  }

  Task<Result<Report>> run() {
    marked_at_ = Monotonic::now();
    if (request_.handle && request_.handle->cancelled()) {
      ended_ = EndCause::cancelled;
      co_return fail(Code::denied, "cancelled by an administrator before it began");
    }
    auto draining_out = start(out_.drain(jail_.out(), *share_));
    auto draining_err = start(err_.drain(jail_.err(), *share_));
    auto watching = start(watch());
    deadline_ = Deadline(host_.loop, kStartLimit, [this] { end(EndCause::deadline); });
    if (auto attached = co_await jail_.attach(request_.workspace); !attached) {
      // A jail that has ended cannot be attached to. The reason for its end is the better error message.
      jail_.kill();
      auto report = co_await jail_.next_report();
      if (report && report->event == InitEvent::failed) co_return cannot_start(*report);
      if (!report) co_return tl::unexpected<Error>(std::move(attached).error());
      co_await draining_err;
      co_return did_not_start();
    }
    mark("attach");
    if (jail_.ready()) {
      if (auto before = std::exchange(request_.before_code, {})) co_await before();
      CO_CHECKED(start_clock());
    }
    mark("prepare");
    auto talking = start(talk());
    // A cold jail gets the code before its interpreter is ready. An interpreter that finds code waiting skips its
    // warm-up, which would only delay the program.
    auto sending = start(send_code());

    // The receipt is begun while the interpreter works; conclude() completes it.
    report_.receipt = begin_receipt(host_, jail_, request_, origin_, meter_.granted_bytes());
    auto reporting = start(await_report());
    co_await over_;
    // The task that fired over_ is still on the stack. If only the runner is left, its answer ends the execution.
    co_await next_turn(host_.loop);
    if (answered_status_) clock_.let_go();  // one of its threads may wait for a person
    while (answers_session() && replies_.sending()) co_await sleep_for(host_.loop, kSendingEvery);  // no half message
    goes_on_ = answers_session();
    if (goes_on_ || (!heard_ && ended_ == EndCause::by_itself && is_alone())) {
      double wall_ms = clock_.ran_ms();
      if (goes_on_) meter_.count_living();
      out_.drain_now(jail_.out());
      err_.drain_now(jail_.err());
      calls_.cancel_all();
      mark("drained");
      auto report = conclude(std::nullopt, wall_ms);
      if (!goes_on_ && report.usage.memory_peak_bytes <= TeardownQueue::kLittleBytes)
        left_ = TeardownQueue::Left::little;
      co_return report;
    }
    jail_.guest().end_sending();
    co_await reporting;
    auto report = report_heard_;
    mark("exited");
    double wall_ms = clock_.ran_ms();
    deadline_ = Deadline();
    clock_.stop();
    jail_.kill();  // ends processes that the program left behind
    unanswered_.stop_waiting();
    co_await talking;
    (void)co_await sending;
    // If the program left no process behind, only init is still there, and its end need not be awaited.
    if (!report || report->event != InitEvent::exited || report->others) co_await jail_.gone();
    co_await draining_out;
    co_await draining_err;
    calls_.cancel_all();
    mark("drained");
    if (report && report->event == InitEvent::failed) co_return cannot_start(*report);
    if (!running() && !report && ended_ == EndCause::by_itself) co_return tl::unexpected<Error>(ended_before_program());
    if (!running() && ended_ != EndCause::cancelled) co_return did_not_start();
    co_return conclude(report, wall_ms);
  }

  void cancel() override { end(EndCause::cancelled); }

  Result<> freeze() override {
    CHECKED(check_freezable());
    if (answered_status_) return ending();
    return clock_.freeze();
  }

  Result<> thaw() override {
    CHECKED(check_freezable());
    return clock_.thaw();
  }

  void hold() override {
    if (running() && ended_ == EndCause::by_itself && !answered_status_) clock_.hold();
  }
  void release() override { clock_.release(); }

  Result<> change(const LimitChange& change) override {
    if (ended_ != EndCause::by_itself || answered_status_) return ending();
    const bool of_cgroup = change.memory_bytes || change.tasks || change.cpus;
    if (of_cgroup && request_.session_call > 0)
      return fail(Code::unavailable,
                  "the limits of this session were fixed at its start; only its wall time can be changed");
    if (of_cgroup && !jail_.cgroup())
      return fail(Code::unavailable, "no cgroup counts this execution: only its wall time can be changed",
                  "run the daemon where cgroup v2 is delegated to it");
    const policies::Limits wanted = changed_limits(request_.spec.limits, change);
    // Before the clock runs, its start applies the limits.
    if (running() && of_cgroup) CHECKED(jail_.cgroup().set(cgroup_limits_of(wanted, meter_.granted_bytes())));
    request_.spec.limits = wanted;
    clock_.limit_changed();
    return {};
  }

  LiveUsage usage() const override {
    LiveUsage now = sampled_;
    now.wall_ms = clock_.ran_ms();
    return now;
  }

  // True if the jail came from the pool and its interpreter never read the whole run message: no code ran.
  bool never_began() const {
    return origin_.start != Start::cold && request_.session_call <= 1 && ended_ != EndCause::cancelled && !spoke_ &&
           (!sent_ || jail_.guest().left_unread());
  }

  TeardownQueue::Left left() const { return left_; }  // content of the jail now
  // True if the program has ended and its interpreter waits for the session's next program.
  bool goes_on() const { return goes_on_; }

 private:
  // Records for the receipt how long this part of the execution took.
  void mark(const char* part) {
    auto now = Monotonic::now();
    path_.emplace_back(part, static_cast<uint32_t>(ms_since(marked_at_) * 1000));
    marked_at_ = now;
  }

  bool running() const { return clock_.started(); }
  void tell_phase() {
    if (request_.handle) request_.handle->enter(clock_.is_frozen() ? Phase::frozen : Phase::running);
  }

  static tl::unexpected<Error> ending() { return fail(Code::unavailable, "this execution is ending"); }

  Result<> check_freezable() const {
    if (!running() || ended_ != EndCause::by_itself)
      return fail(Code::unavailable, "no code of this execution runs now");
    if (jail_.cgroup()) return {};
    return fail(Code::unavailable, "no cgroup holds this execution, so it cannot be frozen",
                "run the daemon where cgroup v2 is delegated to it");
  }

  void end(EndCause why) {
    if (ended_ == EndCause::by_itself) ended_ = why;
    jail_.kill();
  }

  tl::unexpected<Error> cannot_start(const InitReport& report) const {
    return tl::unexpected<Error>(failed_step(report.step, report.error, interpreter_of(request_.spec.language)));
  }

  // The error holds the last bytes that the interpreter wrote to stderr.
  tl::unexpected<Error> did_not_start() const {
    std::string said = err_.last(300);
    while (said.ends_with('\n')) said.pop_back();
    return fail(Code::unavailable, fmt::format("the {} interpreter did not start{}{}",
                                               language_name(request_.spec.language), said.empty() ? "" : ": ", said));
  }

  Task<> await_report() {
    report_heard_ = co_await jail_.next_report();
    heard_ = true;
    over_.fire();
  }

  // True if the program answered and only its runner is left: its usage can be read before the jail ends.
  bool is_alone() {
    if (!answered_status_) return false;
    // Node has helper threads. When its event loop is empty, no thread of the program is left.
    return meter_.is_alone(runs_in_node(request_.spec.language) ? Threads::any : Threads::one);
  }

  // True if a program of a session answered; other processes may still be in the jail.
  bool answers_session() const {
    return request_.session_call > 0 && answered_status_ && !heard_ && ended_ == EndCause::by_itself;
  }

  // Reads the guest's messages until its socket closes.
  Task<> talk() {
    jail_.guest().limit_messages(most_message(request_) + kSlack);
    while (!jail_.ready()) {
      auto message = co_await jail_.guest().receive();
      if (!message || !message->has_value()) co_return not_understood(message);
      if (!jail_.take_ready(**message)) co_return violation("an unexpected message");
      if (auto started = start_clock(); !started) co_return violation(started.error().what);
    }
    for (;;) {
      auto text = co_await jail_.guest().receive_text();
      if (!text || !text->has_value()) co_return not_understood(text);
      if (running()) spoke_ = true;
      const size_t bytes = (*text)->size();
      auto said = co_await read_guest_text(host_.json, owner(), *share_, **std::move(text));
      if (!take(std::move(said), bytes)) co_return;
      co_await unanswered_.room();
    }
  }

  template <class Message>
  void not_understood(const Result<Message>& message) {
    if (!message && message.error().code == Code::invalid) violation(message.error().what);
  }

  JsonWork::Owner owner() const { return {request_.tenant, request_.spec.limits.json_bytes_per_second}; }

  // Handles one message. False: no further message is to be read.
  bool take(Result<GuestMessage>&& message, size_t bytes) {
    const LoopShare::Use use(*share_);
    const Doing doing(LoopWork::program_message, &request_.tenant);
    if (!message) {
      violation(message.error().what);
      return false;
    }
    GuestMessage& said = *message;
    const bool is_call = std::holds_alternative<GuestCall>(said);
    if (!running() || (!is_call && evidence_.guest_answered)) {
      host_.json.free_elsewhere(std::move(said));
      violation("an unexpected message");
      return false;
    }
    if (!is_call) {
      take_result(std::get<GuestResult>(std::move(said)));
      return request_.session_call == 0;  // later messages belong to the next program
    }
    if (accepted_ - replies_.sent() >= kMostCalls) {
      violation("too many calls at once");
      return false;
    }
    accepted_++;
    calls_.spawn(answer(std::get<GuestCall>(std::move(said)), bytes));
    return true;
  }

  void violation(std::string what) {
    violation_ = std::move(what);
    end(EndCause::protocol);
  }

  Task<Result<>> send_code() {
    if (auto before = std::exchange(request_.before_code, {})) co_await before();
    auto order = request_.order;
    if (!order) order = std::make_shared<const std::string>(run_message(request_));
    auto sent = co_await jail_.guest().send_shared(std::move(order));
    sent_ = sent.has_value();
    mark("sent");
    co_return sent;
  }

  // The interpreter is ready. From here on, time and the cgroup's charges count for the program.
  Result<> start_clock() {
    CHECKED(meter_.begin(request_.spec.limits, origin_.start));
    deadline_ = Deadline();
    clock_.start();
    if (request_.handle) request_.handle->enter(Phase::running);
    return {};
  }

  Task<> answer(GuestCall call, size_t bytes) {
    const UnansweredCalls::One one(unanswered_, bytes);
    Result<CallReply> done = fail(Code::not_found, fmt::format("no call is named '{}' here", call.name));
    if (call.refused) {
      done = tl::unexpected<Error>(*std::move(call.refused));
    } else if (request_.call) {
      done = co_await request_.call(std::move(call.name), std::move(call.arguments));
    }
    co_await replies_.send(std::move(call.id), std::move(done));
  }

  void take_result(GuestResult result) {
    evidence_.guest_answered = true;
    mark("answered");
    answered_status_ = result.status;
    report_.value = std::move(result.value);
    report_.value_type = std::move(result.value_type);
    report_.read_bytes = result.read_bytes;
    if (result.failed) {
      report_.error = std::move(result.error);
      report_.traceback = std::move(result.traceback);
      evidence_.guest_error = true;
      evidence_.guest_out_of_memory = report_.error.starts_with("MemoryError");
      evidence_.guest_errno = result.error_number.value_or(evidence_.guest_errno);
    }
    report_.images = std::move(result.images);
    if (answered_status_) {
      over_.fire();
    } else {
      jail_.guest().end_sending();
    }
  }

  // Enforces what no kernel limit does: CPU time of the jail, quota without project quotas, memory without cgroups.
  Task<> watch() {
    const auto& limits = request_.spec.limits;
    for (;;) {
      co_await sleep_for(host_.loop, kWatchEvery);
      if (ended_ != EndCause::by_itself) {
        jail_.kill();  // again, because the jailer's queue may have been full
        continue;
      }
      clock_.look();
      if (running() && never_began() && clock_.ran_ms() > kBeginLimitMs) end(EndCause::deadline);
      const Meter::Look look = meter_.look();
      sampled_ = {0, static_cast<double>(look.cpu_us) / 1000, look.memory_bytes, look.tasks};
      if (running() && limits.cpu.count() > 0 && look.cpu_us > static_cast<uint64_t>(limits.cpu.count()) * 1000)
        end(EndCause::cpu_limit);
      if (!jail_.cgroup() && look.memory_bytes > limits.memory_bytes) end(EndCause::memory_watch);
      if (running() && request_.over_quota && request_.over_quota()) end(EndCause::disk_limit);
    }
  }

  // Adds advice to the report: the likely cause of the failure, found by words in the program's output.
  void advise() {
    const bool failed = report_.outcome != Outcome::ok;
    if (report_.outcome == Outcome::forbidden_call)
      report_.message +=
          fmt::format(": {} (rule: seccomp/{}, kill)", forbidden_call_advice(request_.code), request_.seccomp_profile);
    if (report_.error.find("no network") != std::string::npos) return;  // the runner's message says it already
    std::string words = err_.last(kAdvisedOn);
    if (failed) words = report_.error.substr(0, kAdvisedOn) + "\n" + words;
    // A program that chose its exit status, and a shell program, may have printed the reason on either stream.
    const bool chose_status = report_.outcome == Outcome::exit;
    if (chose_status || (failed && request_.spec.language == Language::shell)) words += "\n" + out_.last(kAdvisedOn);
    std::string advice = network_advice(words);
    if (advice.empty() && !jail_.cgroup()) advice = shared_memory_advice(words, request_.code);
    if (!advice.empty()) report_.message += (report_.message.empty() ? "" : "; ") + advice;
  }

  Report conclude(const std::optional<InitReport>& report, double wall_ms) {
    evidence_.ended = ended_;
    evidence_.jailer_gone = !report && host_.jailer.is_gone();
    if (report && report->event == InitEvent::exited) {
      evidence_.wait_status = report->wait_status;
      if (report->others > request_.spec.limits.tasks) {  // kOthersUncounted, or a number that cannot be true
        report_.left_running = 0;
      } else if (report->others > 0) {
        report_.left_running = report->others;
      }
    }
    if (!report && answered_status_) evidence_.wait_status = *answered_status_ << 8;  // as wait(2) will encode it
    report_.usage.wall_ms = wall_ms;
    meter_.end(report, report_.usage, evidence_);
    report_.outcome = classify(evidence_);
    report_.message = describe(report_.outcome, evidence_, texts_of(request_.spec.limits));
    if (!violation_.empty()) report_.message += ": " + violation_;
    advise();
    if (evidence_.wait_status && WIFEXITED(*evidence_.wait_status))
      report_.exit_status = WEXITSTATUS(*evidence_.wait_status);
    if (evidence_.wait_status && WIFSIGNALED(*evidence_.wait_status)) report_.signal = WTERMSIG(*evidence_.wait_status);
    report_.out = CapturedStream{out_.text(), out_.bytes(), out_.lines(), out_.truncated()};
    report_.err = CapturedStream{err_.text(), err_.bytes(), err_.lines(), err_.truncated()};
    std::string path;
    for (const auto& [part, us] : path_) path += fmt::format("{}\"{}\":{}", path.empty() ? "" : ",", part, us);
    report_.receipt += fmt::format(",\"path_us\":{{{}}}}}", path);
    return std::move(report_);
  }

  Host& host_;
  Request& request_;
  Jail& jail_;
  const Origin& origin_;
  Capture out_, err_;
  Report report_;
  Evidence evidence_;
  Event over_;
  std::optional<InitReport> report_heard_;
  bool heard_ = false;
  std::optional<int> answered_status_;  // the runner is about to exit with this status
  EndCause ended_ = EndCause::by_itself;
  std::string violation_;
  bool goes_on_ = false;
  TeardownQueue::Left left_ = TeardownQueue::Left::anything;
  bool sent_ = false;   // the whole run message was sent
  bool spoke_ = false;  // the runner has the code, and has sent a message since
  LiveUsage sampled_;
  Meter meter_;
  WallClock clock_;
  Monotonic::time_point marked_at_;
  std::vector<std::pair<const char*, uint32_t>> path_;
  UnansweredCalls unanswered_{host_.loop};
  const std::shared_ptr<LoopShare> share_{host_.shares.of(request_.tenant)};
  Replies replies_{jail_.guest(), host_.replies, host_.json, owner(), request_.answered};
  Deadline deadline_;
  uint64_t accepted_ = 0;  // calls; each has one reply
  Scope calls_;            // last: cancelled first
};

}  // namespace

Task<Result<Report>> execute(Host& host, Request request) {
  if (is_large_order(request)) CO_CHECKED(co_await write_order(host.json, request));
  Spec spec = request.spec;
  spec.name = request.id;
  CO_TRY(std::unique_ptr<Jail> jail, co_await Jail::build(host, std::move(spec)));
  const Origin cold;
  Execution execution(host, request, *jail, cold);
  auto report = co_await execution.run();
  co_return report;
}

Task<Result<Report>> execute(Host& host, Pool& pool, Request request) {
  Kept nothing;  // stays empty: this program belongs to no session
  auto report = co_await execute(host, pool, std::move(request), nothing);
  co_return report;
}

Task<Result<Report>> execute(Host& host, Pool& pool, Request request, Kept& kept) {
  CO_CHECKED(check_requirements(host, request.spec.isolation));
  if (host.unfit) co_return tl::unexpected<Error>(*host.unfit);  // a session's jail may be older than this finding
  if (!request.order && is_large_order(request)) CO_CHECKED(co_await write_order(host.json, request));
  Pool::Running running(pool);
  auto jail = std::move(kept.jail);
  if (!jail) {
    auto waiting = co_await pool.take(request.tenant, request.spec, request.pool, request.workspace);
    if (waiting) {
      jail = std::move(waiting->jail);
      kept.origin = waiting->origin;
    }
  }
  for (;;) {
    if (!jail) {
      Spec spec = request.spec;
      spec.name = request.id;
      CO_TRY(jail, co_await Jail::build(host, std::move(spec)));
      kept.origin = Origin{};
    }
    Execution execution(host, request, *jail, kept.origin);
    auto report = co_await execution.run();
    if (execution.goes_on()) {
      kept.jail = std::move(jail);
      co_return report;
    }
    pool.retire(std::move(jail), execution.left());
    if (!execution.never_began()) co_return report;
    log_warning("execution {}: the waiting jail did not begin; building another", request.id);
  }
}

}  // namespace jail
