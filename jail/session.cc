#include "jail/session.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <cstring>

#include "jail/run_message.h"
#include "supervisor/base/log.h"

namespace jail {
namespace {

using namespace std::chrono_literals;

constexpr auto kLookBetweenCalls = 1s;
constexpr uint64_t kWorkGrainUs = 20'000;  // the clock's; less is no work
// CPU time that threads of libraries may use between programs: a second, and a twentieth of the time.
constexpr uint64_t kIdleCpuUs = 1'000'000;
constexpr uint64_t kIdleShare = 20;

uint64_t used_cpu_us(Jail& jail) {
  auto lone = jail.lone_process(Threads::any);
  return lone ? lone->cpu_us : read_tree_cpu_us(jail.init_pid());
}

}  // namespace

Session::~Session() { between_.cancel_all(); }

Task<Result<Report>> Session::run(Request request) {
  if (is_large_order(request)) {  // while the session still rests and is watched
    request.session_call = calls_ + 1;
    CO_CHECKED(co_await write_order(host_.json, request));
  }
  between_.cancel_all();
  if (calls_ > 0 && !alive()) co_return fail(Code::not_found, "the session has ended");
  if (frozen()) {
    if (auto thawed = kept_.jail->cgroup().thaw(); !thawed) {
      end(thawed.error().what);
      co_return tl::unexpected<Error>(std::move(thawed).error());
    }
    // A frozen init cannot report that its interpreter was killed.
    if (kept_.jail->cgroup().processes() < 2) {
      end("its interpreter was ended from outside between two calls");
      co_return fail(Code::not_found, "the session has ended: " + why_);
    }
  }
  request.session_call = calls_ + 1;
  if (request.values_use != Request::Values::write) calls_++;  // writing values is no program of the session
  if (calls_ == 1) memory_limit_ = request.spec.limits.memory_bytes;
  auto report = co_await execute(host_, pool_, std::move(request), kept_);
  if (alive()) rest();
  co_return report;
}

void Session::end(std::string why) {
  if (!alive()) return;
  why_ = std::move(why);
  pool_.retire(std::move(kept_.jail), TeardownQueue::Left::anything);
}

uint64_t Session::memory_bytes() const {
  if (!alive()) return 0;
  return kept_.jail->cgroup() ? kept_.jail->cgroup().memory_bytes()
                              : read_process_tree(kept_.jail->init_pid()).memory_bytes;
}

// If a cgroup cannot be frozen, the session ends: its processes must not run unwatched.
void Session::rest() {
  worked_ = false;
  if (frozen()) {
    if (auto done = kept_.jail->cgroup().freeze(); !done) {
      log_warning("a session ends, because it cannot be frozen: {}", done.error().what);
      return end(done.error().what);
    }
  } else {
    between_.spawn(watch_work());
  }
  between_.spawn(watch_end());
}

Task<> Session::watch_end() {
  auto report = co_await kept_.jail->next_report();
  if (!report || report->event != InitEvent::exited) {
    end("its jail was ended from outside");
  } else if (WIFSIGNALED(report->wait_status)) {
    int number = WTERMSIG(report->wait_status);
    end(fmt::format("its interpreter was ended by signal {} ({}) between two calls", number, strsignal(number)));
  } else {
    end(fmt::format("its interpreter exited with status {} between two calls", WEXITSTATUS(report->wait_status)));
  }
}

Task<> Session::watch_work() {
  const auto since = Monotonic::now();
  const uint64_t before = used_cpu_us(*kept_.jail);
  while (alive()) {
    co_await sleep_for(host_.loop, kLookBetweenCalls);
    if (!alive()) co_return;
    const uint64_t now = used_cpu_us(*kept_.jail);
    const uint64_t used = now > before ? now - before : 0;
    if (used > kWorkGrainUs) worked_ = true;
    if (used > kIdleCpuUs + static_cast<uint64_t>(ms_since(since) * 1000) / kIdleShare) {
      end("it used CPU time between calls, which this host cannot prevent (no cgroup)");
    } else if (read_process_tree(kept_.jail->init_pid()).memory_bytes > memory_limit_) {
      end("it used more memory than its limit between calls");
    }
  }
}

}  // namespace jail
