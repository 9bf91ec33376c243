#include "jail/execution/session.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstring>

#include "jail/host.h"
#include "jail/jail.h"
#include "jail/pool/pool.h"
#include "jail/pool/teardown_queue.h"
#include "jail/talk/run_message.h"
#include "jail/usage/process_tree.h"
#include "supervisor/base/log.h"

namespace jail {
namespace {

using namespace std::chrono_literals;

constexpr auto kLookBetweenCalls = 1s;
constexpr uint64_t kWorkGrainUs = 20'000;  // the clock's; less is no work
// CPU time that threads of libraries may use between programs: a second, and a twentieth of the time.
constexpr uint64_t kIdleCpuUs = 1'000'000;
constexpr uint64_t kIdleShare = 20;

}  // namespace

Session::~Session() { between_.cancel_all(); }

Task<Result<Report>> Session::run(Request request) {
  if (is_large_order(request)) {  // while the session still rests and is watched
    request.session_call = calls_ + 1;
    CO_CHECKED(co_await write_order(host_.work, request));
  }
  between_.cancel_all();
  if (calls_ > 0 && !alive()) co_return fail(Code::not_found, "the session has ended");
  if (frozen()) {
    if (auto thawed = jail_.jail->cgroup().thaw(); !thawed) {
      end(thawed.error().what);
      co_return tl::unexpected<Error>(std::move(thawed).error());
    }
    // A frozen init cannot report that its interpreter was killed.
    if (jail_.jail->cgroup().processes() < 2) {
      end("its interpreter was ended from outside between two calls");
      co_return fail(Code::not_found, "the session has ended: " + why_);
    }
  }
  request.session_call = calls_ + 1;
  if (request.values_use != Request::Values::write) calls_++;  // writing values is no program of the session
  if (calls_ == 1) memory_limit_ = request.spec.limits.memory_bytes;
  auto report = co_await execute(host_, pool_, std::move(request), jail_);
  if (report) remaining_ = report->remainder;
  if (alive()) rest();
  co_return report;
}

void Session::end(std::string why) {
  if (!alive()) return;
  why_ = std::move(why);
  jail_.jail->stop_using_disk();
  pool_.retire(std::move(jail_.jail), TeardownQueue::Remainder::anything);
}

uint64_t Session::memory_bytes() const {
  if (!alive()) return 0;
  return jail_.jail->cgroup() ? jail_.jail->cgroup().memory_bytes() : remaining_.memory_bytes;
}

// If a cgroup cannot be frozen, the session ends: its processes must not run unwatched.
void Session::rest() {
  worked_ = false;
  if (DiskUse* const use = jail_.jail->disk_use()) {
    use->set_pace(frozen() ? DiskUse::Pace(0) : DiskUse::kBetweenPrograms);
    use->set_end([this] { end("the disk of all tenants is nearly full, and it had taken most of it"); });
  }
  if (frozen()) {
    if (auto done = jail_.jail->cgroup().freeze(); !done) {
      log_warning("a session ends, because it cannot be frozen: {}", done.error().what);
      return end(done.error().what);
    }
  } else {
    between_.spawn(watch_work());
  }
  between_.spawn(watch_end());
}

Task<> Session::watch_end() {
  auto report = co_await jail_.jail->next_report();
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
  uint64_t before = remaining_.tree_cpu_us;
  for (;; co_await sleep_for(host_.loop, kLookBetweenCalls)) {
    if (!alive()) co_return;
    const TreeUsage usage = co_await host_.trees.read(jail_.jail->init_pid());
    if (!alive()) co_return;
    if (!usage.is_read) continue;
    remaining_.memory_bytes = usage.memory_bytes;
    jail_.jail->lower_priority(priority_, usage);
    if (before == 0) before = usage.cpu_us;
    const uint64_t used = usage.cpu_us - std::min(usage.cpu_us, before);
    if (used > kWorkGrainUs) worked_ = true;
    if (used > kIdleCpuUs + static_cast<uint64_t>(ms_since(since) * 1000) / kIdleShare) {
      end("it used CPU time between calls, which this host cannot prevent (no cgroup)");
    } else if (usage.memory_bytes > memory_limit_) {
      end("it used more memory than its limit between calls");
    }
  }
}

}  // namespace jail
