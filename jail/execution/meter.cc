#include "jail/execution/meter.h"

#include <algorithm>
#include <utility>

#include "jail/execution/outcome.h"
#include "jail/jail.h"

namespace jail {
namespace {

uint64_t beyond(uint64_t all, uint64_t before) { return all - std::min(all, before); }

// `tree_cpu_us` has steps of 10 ms; the clock of a lone process is exact.
uint64_t cpu_of(Jail& jail, uint64_t tree_cpu_us) {
  auto lone = jail.lone_process(Threads::any);
  return lone ? lone->cpu_us : tree_cpu_us;
}

}  // namespace

Task<Result<>> Meter::begin(policies::Limits limits, Start start) {
  if (jail_.cgroup()) {
    const NamedWork named_work(LoopWork::jail);
    // A waiting jail's memory grew before this execution's request. The memory of a cold start counts for the
    // execution.
    if (program_ == Program::later || start != Start::cold) memory_before_ = jail_.cgroup().memory_bytes();
    cpu_before_us_ = jail_.cgroup().cpu_us();
    if (program_ == Program::first) {
      granted_ = memory_before_;
      co_return jail_.cgroup().set(cgroup_limits_of(limits, granted_));
    }
    CO_TRY(before_, jail_.cgroup().usage());
  } else if (program_ == Program::first) {
    cpu_before_us_ = jail_.ready()->cpu_us;
  } else {
    const TreeUsage usage = co_await trees_.read(jail_.init_pid());
    if (!usage.is_read) co_return fail(Code::unavailable, "the processes of the session cannot be read");
    cpu_before_us_ = cpu_of(jail_, usage.cpu_us);
    memory_before_ = usage.memory_bytes;
  }
  co_return Result<>{};
}

Task<Meter::MeterReading> Meter::inspect(uint64_t memory_limit_bytes) {
  MeterReading scan;
  if (jail_.cgroup()) {
    const NamedWork named_work(LoopWork::jail);
    auto usage = jail_.cgroup().usage();
    if (!usage) co_return scan;
    scan.cpu_us = beyond(usage->cpu_us, cpu_before_us_);
    scan.memory_bytes = jail_.cgroup().memory_bytes();
    scan.tasks = jail_.cgroup().tasks();
    if (program_ == Program::first) {
      tasks_seen_ = std::max(tasks_seen_, usage->tasks_peak);
    } else {
      tasks_seen_ = std::max(tasks_seen_, scan.tasks);
      memory_seen_ = std::max(memory_seen_, scan.memory_bytes);
    }
  } else {
    TreeUsage usage = co_await trees_.read(jail_.init_pid());
    if (!usage.is_read) co_return scan;
    if (values_.must_read(usage, memory_limit_bytes))
      values_.take(usage, co_await trees_.read(jail_.init_pid(), values_.values()));
    scan.memory_bytes = values_.memory_bytes(usage);
    const uint64_t own_bytes = usage.memory_bytes - (values_ ? usage.shared_bytes : 0);
    tasks_seen_ = std::max(tasks_seen_, usage.tasks);
    memory_seen_ = std::max(memory_seen_, std::min(own_bytes, scan.memory_bytes));
    scan.tasks = usage.tasks;
    scan.tree = std::move(usage);
  }
  co_return scan;
}

bool Meter::is_alone(Threads threads) {
  if (jail_.cgroup()) {  // init and the runner
    return (threads == Threads::any ? jail_.cgroup().processes() : jail_.cgroup().tasks()) == 2;
  }
  auto lone = jail_.lone_process(threads);
  if (!lone) return false;
  cpu_now_us_ = lone->cpu_us;
  peak_now_ = lone->peak_bytes;
  shared_now_ = lone->shared_bytes;
  return true;
}

Task<LeftUsage> Meter::count_living() {
  const MeterReading last = co_await inspect();
  if (last.tree.is_read) cpu_now_us_ = cpu_of(jail_, last.tree.cpu_us);
  co_return LeftUsage{last.memory_bytes, last.tree.cpu_us};
}

void Meter::end(const std::optional<InitReport>& report, JailUsage& usage, Evidence& evidence) {
  if (cpu_now_us_) {
    usage.cpu_ms = static_cast<double>(beyond(*cpu_now_us_, cpu_before_us_)) / 1000;
    usage.memory_peak_bytes = values_ ? beyond(peak_now_, shared_now_) : peak_now_;
  } else if (report) {
    usage.cpu_ms = static_cast<double>(beyond(report->user_us + report->system_us, cpu_before_us_)) / 1000;
    if (program_ == Program::first && !values_) usage.memory_peak_bytes = report->max_rss_bytes;
  }
  usage.memory_peak_bytes = std::max(usage.memory_peak_bytes, beyond(memory_seen_, memory_before_));
  if (jail_.cgroup()) {
    if (auto counted = jail_.cgroup().usage()) {
      usage.cpu_ms = static_cast<double>(beyond(counted->cpu_us, cpu_before_us_)) / 1000;
      // The kernel's peaks are those of the cgroup's whole time: they are this program's if it has raised them.
      if (counted->memory_peak_bytes > before_.memory_peak_bytes)
        usage.memory_peak_bytes = beyond(counted->memory_peak_bytes, memory_before_);
      if (counted->tasks_peak > before_.tasks_peak) tasks_seen_ = std::max(tasks_seen_, counted->tasks_peak);
      evidence.oom_kills = beyond(counted->oom_kills, before_.oom_kills);
      evidence.tasks_refused = beyond(counted->tasks_refused, before_.tasks_refused);
    }
    if (tasks_seen_ > 0) tasks_seen_--;  // init
  }
  usage.processes_peak = tasks_seen_;
}

}  // namespace jail
