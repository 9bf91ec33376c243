// WorkerThread: one thread beside the loop, for jobs that wait for a disk or take long. Jobs run one after the other,
// in the order of their run() calls. A job must not touch data of the loop's thread: it gets its data by value, or by
// pointers to data that does not change. The thread takes no signals, and calls no libuv function.
#pragma once
#include <functional>
#include <memory>

#include "supervisor/base/clock.h"
#include "supervisor/base/loop.h"
#include "supervisor/base/loop_wake.h"
#include "supervisor/base/result.h"
#include "supervisor/base/task.h"

class WorkerThread {
 public:
  using Job = std::function<Result<>()>;

  // The loop must outlive the thread. Errors: internal, if the thread or its descriptor cannot be made.
  static Result<std::unique_ptr<WorkerThread>> start(Loop& loop);
  // Waits for the running job, unless end_by() or end_unwatched() was called. Jobs behind it are dropped, and the tasks
  // that await them are never resumed.
  ~WorkerThread();
  WorkerThread(const WorkerThread&) = delete;

  // Runs `job` on the thread and returns the job's result. An exception becomes Code::internal. After a cancelled call,
  // a job that has begun runs to its end; a job that has not begun is dropped.
  Task<Result<>> run(Job job);
  // Waits for the running job until that time. If it runs longer, the thread is left alone: it ends with its job, and
  // the program must end by _exit(2), as static objects may still be in use (any_left_alone()). No other function may
  // be called on this object afterwards, except the destructor.
  void end_by(Monotonic::time_point time);
  // Ends a thread that has no job, without waiting for it: a thread of low priority may need long to end. Afterwards as
  // after end_by().
  void end_unwatched();
  // Whether the process has a thread with a job that outlives its WorkerThread.
  static bool any_left_alone();

  // Sets the nice value of the thread (setpriority(2)). If the kernel refuses, the value stays.
  void set_nice(int nice);
  // Processor time that the thread has used. 0: the kernel does not say.
  std::chrono::nanoseconds processor_time() const;
  // For jobs: true when the thread is to end. Long jobs check it from time to time, and stop.
  bool is_ending() const;

 private:
  struct Ticket;
  struct Shared;
  WorkerThread() = default;
  void deliver();

  std::shared_ptr<Shared> shared_;  // shared with the thread
  std::unique_ptr<LoopWake> wake_;
};
