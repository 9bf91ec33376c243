#include "supervisor/daemon/daemon.h"

#include <fmt/format.h>
#include <malloc.h>
#include <sys/wait.h>

#include <csignal>
#include <cstring>

#include "supervisor/base/log.h"
#include "supervisor/base/version.h"
#include "supervisor/daemon/message_ids.h"

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
          const Doing doing(LoopWork::other);
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
  // Each execution allocates and frees the same 256 KiB. malloc(3) must not give them back to the kernel each time.
  ::mallopt(M_TRIM_THRESHOLD, 16 << 20);
  watch_signals();
  tasks_.spawn(serve());
  loop_.run();
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
      .show_status =
          [this](const std::string& text) {
            if (!ending_) service_.status(text);
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
  const auto policy = prepared_.policies.standard();
  CO_CHECKED(co_await jails_->test(*policy));
  CO_TRY(parts_, DaemonParts::open(loop_, prepared_, jails_->host(), controls()));
  co_await parts_->begin();
  CO_CHECKED(parts_->serve());
  service_.start_watchdog(loop_);
  service_.ready("serving");
  loop_.busy_time().forget();  // no client waited during the start
  log_notice("warderd {} is ready", kWarderVersion);
  serving_.fire();
  co_return Result<>{};
}

void Daemon::end_after_running_calls() {
  if (!std::exchange(ending_, true)) tasks_.spawn(drain(kDrainLimit));
}

Task<> Daemon::drain(std::chrono::milliseconds most) {
  service_.stopping();
  if (serving_.fired()) {
    parts_->refuse_calls();
    Deadline limit(loop_, most, [this, most] {
      log_warning("calls still run after {} s: the daemon ends them", most.count() / 1000);
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
