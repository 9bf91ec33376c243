#include "supervisor/executions/timeline_recorder.h"

#include <cstdlib>

#include "supervisor/records/journal/journal.h"

namespace executions {
namespace {

using namespace std::chrono_literals;

// A program that ran this long has used CPU time. If the sample says 0, the CPU time is known only after its end.
constexpr double kMeasuredAfterMs = 200;

int64_t monotonic_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Monotonic::now().time_since_epoch()).count();
}

int64_t epoch_now() { return (journal::now_ms() - monotonic_ms() + 500) / 1000; }

}  // namespace

TimelineState timeline_state(const ExecutionRegistry& executions, const jail::Pool* pool) {
  TimelineState now;
  now.running = executions.count(Stage::running);
  now.waiting = executions.count(Stage::waiting);
  now.frozen = executions.count(Stage::frozen);
  now.cpu_usec = executions.sums().totals.cpu_us;
  executions.each_living([&now](const ExecutionRecord& execution) {
    const jail::LiveUsage usage = execution.now();
    now.cpu_usec += static_cast<uint64_t>(usage.cpu_ms.value_or(0) * 1000);
    now.memory_bytes += usage.memory_bytes;
    if (usage.wall_ms > kMeasuredAfterMs && !usage.cpu_ms) now.has_cpu = false;
  });
  if (!pool) return now;
  for (const auto& [language, stock] : pool->stock()) {
    now.waiting_jails += stock.jails;
    now.memory_bytes += stock.bytes;
  }
  return now;
}

TimelineRecorder::TimelineRecorder(Loop& loop, ExecutionRegistry& executions, const jail::Pool& pool)
    : loop_(loop), executions_(executions), pool_(pool), epoch_(epoch_now()) {
  auto changed = [this](const ExecutionRecordPtr& execution, ExecutionRegistry::RegistryEvent subject) {
    if (subject != ExecutionRegistry::RegistryEvent::ended) return;
    const bool only_ended_session = execution->outcome == "ok" && execution->start.empty();
    if (!only_ended_session) timeline_.add(execution->outcome, execution->answered);
  };
  observes_ = executions_.observe({.changed = changed, .limit_reached = [](const ExecutionRecord&, const auto&) {}});
  timeline_.close(monotonic_ms() / 1000, inspect());
  wait_for_second();
}

TimelineState TimelineRecorder::inspect() const { return timeline_state(executions_, &pool_); }

void TimelineRecorder::wait_for_second() {
  const auto remaining = std::chrono::milliseconds(1000 - monotonic_ms() % 1000 + 1);
  second_ = Deadline(loop_, remaining, [this] { close_second(); });
}

void TimelineRecorder::close_second() {
  timeline_.close(monotonic_ms() / 1000, inspect());
  wait_for_second();
}

Result<TimelineRange> TimelineRecorder::read(const Timeline::Query& request) const {
  // The clock of the day may be set while the daemon runs. Differences below 2 s are rounding.
  if (const int64_t epoch = epoch_now(); std::abs(epoch - epoch_) > 1) epoch_ = epoch;
  return timeline_.read(request, epoch_);
}

}  // namespace executions
