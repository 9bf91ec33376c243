#include "supervisor/daemon/daemon.h"

#include <fmt/format.h>
#include <malloc.h>
#include <sys/wait.h>

#include <csignal>
#include <cstring>

#include "jail/jail.h"
#include "policies/isolation.h"
#include "policies/policy_parts.h"
#include "supervisor/base/log.h"
#include "supervisor/base/version.h"
#include "supervisor/message_ids.h"

namespace {

using namespace std::chrono_literals;

constexpr auto kDrainLimit = 40s;       // less than TimeoutStopSec= of the unit
constexpr auto kEndOfJailer = 20ms;     // a process's sockets close before waitpid(2) reports its status
constexpr auto kLastAnswersLimit = 5s;  // every jail has ended, so all calls are answered soon

// The jailer is the daemon's only child.
std::string how_child_ended() {
  int status = 0;
  if (::waitpid(-1, &status, WNOHANG) <= 0) return "";
  if (WIFSIGNALED(status)) return fmt::format(" (signal {}: {})", WTERMSIG(status), ::strsignal(WTERMSIG(status)));
  return fmt::format(" (status {})", WEXITSTATUS(status));
}

// Why no program of the clients can run, so far as it is known at the start: the policy requires what this host does
// not have. For an ordinary user's daemon this is that user's policy, else the standard policy.
Result<> check_that_programs_run(const Prepared& prepared, const jail::Host& host) {
  auto policy = prepared.policies.standard();
  if (!prepared.identity.root) {
    TRY(const policies::Assignment own,
        prepared.policies.tenant_of({prepared.identity.uid, prepared.identity.gid, {}}));
    policy = own.policy;
  }
  auto met = jail::check_requirements(host, policies::isolation_of(*policy));
  if (met) return met;
  Error error = std::move(met).error().within(fmt::format("policy '{}'", policies::name_of(*policy)));
  if (!prepared.identity.root)
    error.hint =
        "use the service for users, whose policy and cgroup fit: systemctl --user enable --now warder.socket; or "
        "give this daemon folders of policies that do not require it: --policies DIR (man warderd)";
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace

struct Daemon::Signals {
  struct Box {
    uv_signal_t handle;
    std::function<void()> fn;
  };
  std::vector<UvPtr<Box>> boxes;

  void on(Loop& loop, int number, std::function<void()> fn) {
    UvPtr<Box> box(new Box);
    box->fn = std::move(fn);
    box->handle.data = box.get();
    uv_signal_init(loop.uv(), &box->handle);
    uv_signal_start(
        &box->handle,
        [](uv_signal_t* h, int) {
          const NamedWork named_work(LoopWork::other);
          static_cast<Box*>(h->data)->fn();
        },
        number);
    boxes.push_back(std::move(box));
  }
};

Daemon::Daemon(Prepared prepared) : prepared_(std::move(prepared)), tasks_(loop_) {}

Daemon::~Daemon() {
  tasks_.cancel_all();
  if (parts_) parts_->disconnect();
  // Upstream servers that are ending: their jails are killed through the host of jails_, which is destroyed before
  // loop_.
  loop_.cancel_all();
}

int Daemon::run() {
  // Each execution allocates and frees the same 256 KiB, and a large answer some texts of a megabyte: malloc(3) must
  // not give them back to the kernel each time. M_TRIM_THRESHOLD alone disables the dynamic M_MMAP_THRESHOLD, which
  // then stays at 128 KiB.
  ::mallopt(M_TRIM_THRESHOLD, 16 << 20);
  ::mallopt(M_MMAP_THRESHOLD, 2 << 20);
  watch_signals();
  tasks_.spawn(serve());
  loop_.run();
  // All answers and records are written, and only destruction is left. libuv takes its handlers away then, and a second
  // signal must not turn a good end into a death by a signal.
  sigset_t ends;
  sigemptyset(&ends);
  for (int number : {SIGTERM, SIGINT}) sigaddset(&ends, number);
  ::pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  return status_;
}

void Daemon::watch_signals() {
  signals_ = std::make_unique<Signals>();
  std::signal(SIGPIPE, SIG_IGN);
  for (int number : {SIGTERM, SIGINT}) {
    signals_->on(loop_, number, [this, number] {
      if (std::exchange(ending_, true)) return loop_.stop();  // a second signal ends at once
      log_notice("{}: the daemon ends after the running calls", number == SIGTERM ? "SIGTERM" : "SIGINT");
      tasks_.spawn(drain(kDrainLimit));
    });
  }
  signals_->on(loop_, SIGHUP, [this] { tasks_.spawn(reload_on_signal()); });
}

DaemonControls Daemon::controls() {
  return {
      .reload = [this] { return reload(); },
      .drain = [this] { end_after_running_calls(); },
      .draining = [this] { return ending_; },
      .show_trouble =
          [this](const std::string& trouble) {
            trouble_ = trouble;
            if (!ending_) service_.status(status());
          },
  };
}

Task<> Daemon::serve() {
  const auto started = co_await start_serving();
  if (started) co_return;
  const Error& error = started.error();
  log_error("{}{}{}", error.what, error.hint.empty() ? "" : "; ", error.hint);
  status_ = 1;
  loop_.stop();
}

Task<Result<>> Daemon::start_serving() {
  auto lost = [this] { tasks_.spawn(end_without_jailer()); };
  CO_TRY(jails_, JailHost::start(loop_, prepared_, lost));
  co_await test_host();
  CO_TRY(parts_, DaemonParts::open(loop_, prepared_, jails_->host(), controls()));
  CO_CHECKED(co_await parts_->begin());
  CO_CHECKED(parts_->serve());
  co_await parts_->publish_sockets();
  service_.start_watchdog(loop_);
  if (const auto runs = check_that_programs_run(prepared_, jails_->host()); !runs)
    log_error("every execution will be refused: {}; {}", runs.error().what, runs.error().hint);
  service_.ready(status());
  loop_.busy_time().forget();  // no client waited during the start
  log_notice("warderd {} is ready", kWarderVersion);
  serving_.fire();
  co_return Result<>{};
}

// A machine or policies without working jails leave a daemon that answers, and says why it runs no code: a daemon that
// ended would be started again and again.
Task<> Daemon::test_host() {
  const auto& in_force = prepared_.configuration;
  if (in_force.source == configuration::ConfigurationInForce::Source::none) {
    jails_->host().unfit = Error{
        Code::denied, 0,
        "executions are denied, because the configuration of warderd has a mistake: " +
            configuration::summary_of(in_force.notes.problems),
        "ask the administrator to correct it (`warder config check` names every mistake), and then to run `systemctl "
        "reload warder`",
        "configuration"};
    co_return;
  }
  const auto policy = prepared_.policies.standard();
  const Result<> tested = co_await jails_->test(*policy);
  if (!tested) deny_executions(tested.error());
}

std::string Daemon::status() const {
  using Source = configuration::ConfigurationInForce::Source;
  const auto& in_force = prepared_.configuration;
  const std::string mistakes = configuration::summary_of(in_force.notes.problems);
  std::string text = "serving";
  if (in_force.source == Source::none) {
    text = "serving, but no executions: the configuration has a mistake: " + mistakes;
  } else if (jails_->host().unfit) {
    text = "serving, but no executions: the self-test of jails fails, see the log";
  } else if (!check_that_programs_run(prepared_, jails_->host())) {
    text = "serving, but every execution is refused, see the log";
  } else if (reload_failed_) {
    text = "serving; the last reload failed, see the log";
  } else if (in_force.source == Source::last_good) {
    text = "serving with the last good configuration, because of a mistake: " + mistakes;
  }
  if (in_force.falls_short())
    text += "; without " + configuration::summary_of(configuration::texts_of(in_force.notes.shortfalls));
  return trouble_.empty() ? text : text + "; " + trouble_;
}

void Daemon::end_after_running_calls() {
  if (!std::exchange(ending_, true)) tasks_.spawn(drain(kDrainLimit));
}

Task<> Daemon::drain(std::chrono::milliseconds max) {
  service_.stopping();
  if (serving_.fired()) {
    parts_->refuse_calls();
    Deadline limit(loop_, max, [this, max] {
      log_warning("calls still run after {} s: the daemon ends them", max.count() / 1000);
      loop_.stop();
    });
    co_await parts_->finish_calls();
  }
  log_notice("ended");
  loop_.stop();
}

// Every jail has ended with the jailer, and no new jail can be built. The daemon answers the waiting calls and ends.
Task<> Daemon::end_without_jailer() {
  status_ = 1;
  co_await sleep_for(loop_, kEndOfJailer);
  log_fields(LogLevel::error, kJailerEndedId,
             fmt::format("the jailer process ended{}, and all jails ended with it: the daemon answers its calls, ends, "
                         "and is restarted by systemd; without systemd, start it again",
                         how_child_ended()),
             {});
  if (!std::exchange(ending_, true)) co_await drain(kLastAnswersLimit);
}
