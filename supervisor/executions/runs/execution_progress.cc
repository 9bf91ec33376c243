#include "supervisor/executions/runs/execution_progress.h"

#include <chrono>
#include <cmath>

#include "supervisor/base/clock.h"
#include "supervisor/protocol/mcp/context.h"

namespace runs {
namespace {

using namespace std::chrono_literals;

constexpr auto kFirst = 200ms, kEvery = 250ms;
constexpr auto kHeartbeat = 5s;  // without output: clients give up on silence

}  // namespace

Task<> ExecutionProgress::send() {
  const auto started = Monotonic::now();
  auto sent = started;
  bool waited = false;
  for (;;) {
    const auto pause = sent == started ? kFirst : context_.wants_progress() ? kEvery : kHeartbeat;
    co_await sleep_for(context_.loop, pause);
    const bool waits = !execution_.approvals.empty();
    const bool has_news = std::exchange(has_news_, false) || waited != waits;
    waited = waits;
    if (!has_news && Monotonic::now() - sent < kHeartbeat && sent != started) continue;
    sent = Monotonic::now();
    context_.progress(std::floor(ms_since(started)), {}, message());
  }
}

std::string ExecutionProgress::message() const {
  if (!waits_for_.empty()) return "waits for " + waits_for_;
  if (!execution_.approvals.empty()) return "waits for an approval: warder approve " + execution_.approvals.front();
  return last_line_.empty() ? "running " + execution_.id : last_line_;
}

}  // namespace runs
