// WorkMeter: bounds one job on data of agents, jails, servers or nodes. Work on parsed data can grow faster than the
// data: alternatives in a schema, paths of a selection, expressions. A job therefore calls spend() as it works, and
// ends when spend() returns false. The limit is processor time of the job's own thread, so that a busy machine does not
// end a job.
// Made by: Work (work.h) for its jobs, and bounded_work() for data of the administrator. Used by: functions whose work
// is not linear in the size of their input.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>

#include "supervisor/base/result.h"

class WorkMeter {
 public:
  static constexpr std::chrono::milliseconds kMaxTime{1000};  // processor time of one job
  static constexpr uint64_t kStepsPerCheck = 10'000;          // about 100 us

  WorkMeter(const WorkMeter&) = delete;

  // Counts work before it is done. One step is about 10 ns: the comparison of a short text, a lookup in a map. Returns
  // whether the job may continue. Once false, always false.
  bool spend(uint64_t steps) {
    if (steps < remaining_steps_) {
      remaining_steps_ -= steps;
      return true;
    }
    return inspect();
  }
  // Whether the job must end. Does not look at the clock.
  bool is_over() const { return over_; }
  // Why the job had to end. Code::exhausted: its time is used up; Code::unavailable: it was cancelled.
  Error error() const;

  // From any thread: the job ends at its next look at the clock. cancel(): no caller waits for the result. end_early():
  // too many long jobs run.
  void cancel() { cancelled_.store(true, std::memory_order_relaxed); }
  void end_early() { ended_early_.store(true, std::memory_order_relaxed); }

 private:
  friend class Work;
  friend WorkMeter bounded_work(std::chrono::nanoseconds limit);
  explicit WorkMeter(std::chrono::nanoseconds limit) : limit_(limit) {}
  // On the thread of the job, before the job.
  void begin();
  bool inspect();

  const std::chrono::nanoseconds limit_;
  std::chrono::nanoseconds ends_at_{-1};  // by the clock of the thread; negative: not begun
  uint64_t remaining_steps_ = 0;
  bool over_ = false;
  std::atomic<bool> cancelled_{false}, ended_early_{false};
};

// A meter for work on data that the administrator wrote, which happens outside of Work: policies when they are read.
// It may be used on the calling thread only.
WorkMeter bounded_work(std::chrono::nanoseconds limit = WorkMeter::kMaxTime);

// Processor time that the calling thread has used (CLOCK_THREAD_CPUTIME_ID).
std::chrono::nanoseconds thread_time();
