// WorkerThread: one thread beside the loop, for jobs that wait for a disk or take long. Jobs run one after the other,
// in the order of their run() calls. A job must not touch data of the loop's thread: it gets its data by value, or by
// pointers to data that does not change. The thread takes no signals, and calls no libuv function except
// uv_async_send(3).
#pragma once
#include <functional>
#include <memory>

#include "supervisor/base/loop.h"
#include "supervisor/base/result.h"
#include "supervisor/base/task.h"

class WorkerThread {
 public:
  using Job = std::function<Result<>()>;

  // The loop must outlive the thread. Errors: internal, if the thread or its handle cannot be made.
  static Result<std::unique_ptr<WorkerThread>> start(Loop& loop);
  // Waits for the running job. Jobs behind it are dropped, and the tasks that await them are never resumed.
  ~WorkerThread();
  WorkerThread(const WorkerThread&) = delete;

  // Runs `job` on the thread and returns the job's result. An exception becomes Code::internal. After a cancelled call,
  // a job that has begun runs to its end; a job that has not begun is dropped.
  Task<Result<>> run(Job job);
  // For jobs: true when the thread is to end. Long jobs check it from time to time, and stop.
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
