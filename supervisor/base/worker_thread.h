// WorkerThread: one thread beside the loop, for jobs that wait for a disk or take long. Jobs run one after the other,
// in the order in which they were given. A job touches nothing of the loop's: it gets what it needs by value, or by
// pointers to what does not change. The thread takes no signals and calls nothing of libuv's but uv_async_send(3).
#pragma once
#include <functional>
#include <memory>

#include "supervisor/base/loop.h"
#include "supervisor/base/result.h"
#include "supervisor/base/task.h"

class WorkerThread {
 public:
  using Job = std::function<Result<>()>;

  // The loop must outlive it. Errors: internal, the thread or its handle cannot be made.
  static Result<std::unique_ptr<WorkerThread>> start(Loop& loop);
  // Waits for the job that runs; those behind it are dropped, and whoever awaits them is never woken.
  ~WorkerThread();
  WorkerThread(const WorkerThread&) = delete;

  // Runs `job` on the thread; what it returned, once it has ended. An exception is Code::internal.
  // Cancelled meanwhile, a job that has begun still runs to its end; one that has not is dropped.
  Task<Result<>> run(Job job);
  // True for a job that finds that the thread is to end: long ones look now and then, and stop.
  bool is_ending() const;

 private:
  struct Ticket;
  struct Shared;
  struct Wake;
  struct CloseWake {
    void operator()(Wake* wake) const;
  };
  WorkerThread() = default;
  void deliver();

  std::unique_ptr<Shared> shared_;
  std::unique_ptr<Wake, CloseWake> wake_;
};
