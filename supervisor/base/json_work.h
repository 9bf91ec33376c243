// JsonWork: reads and writes large JSON on threads beside the loop, so that no owner waits for the bytes of another. An
// owner is a tenant, or a user with an unread request. Owners take turns. Each owner has at most one job
// running, and its jobs run in the order of their run() calls. Each owner has a budget of bytes per second. An owner
// with no budget left waits; the others do not. The threads start with the first job. They run at a lower priority than
// the loop (nice 5).
// Used by: supervisor/mcp, supervisor/upstream, jail.
#pragma once
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "supervisor/base/clock.h"
#include "supervisor/base/loop.h"
#include "supervisor/base/result.h"
#include "supervisor/base/task.h"
#include "supervisor/base/value_bytes.h"
#include "supervisor/base/worker_thread.h"

class JsonWork {
 public:
  static constexpr size_t kSmall = kSmallText;         // bytes; longer texts are read and written by JsonWork
  static constexpr uint64_t kBytesASecond = 64 << 20;  // where no policy has another number

  struct Owner {
    std::string name;
    uint64_t bytes_per_second = kBytesASecond;
  };

  // The loop must outlive this object.
  explicit JsonWork(Loop& loop);
  // Waits for the running jobs. Waiting jobs are dropped, and the tasks that await them are never resumed.
  ~JsonWork();
  JsonWork(const JsonWork&) = delete;

  // Runs `job` on a thread, in the owner's turn, and returns the job's result. `bytes`: charged to the owner's budget.
  // The job owns all that it uses, as the calling task may be cancelled meanwhile. It must not touch data of the loop's
  // thread. After a cancelled call, a job that has not begun does not run, and its captures are freed on a thread.
  // Errors: internal, if no thread can be made, or if the job threw.
  template <class T>
  Task<Result<T>> run(Owner owner, size_t bytes, std::function<Result<T>()> job) {
    auto done = std::make_shared<Result<T>>(fail(Code::internal, "a job of the JSON threads was not run"));
    std::function<void()> work = [job = std::move(job), done] { *done = job(); };
    CO_CHECKED(co_await run_one(std::move(owner), bytes, std::move(work)));
    co_return std::move(*done);
  }

  // Frees a value with many parts on a thread, before all waiting jobs. No owner is charged.
  template <class T>
  void free_elsewhere(T value) {
    discard(std::make_shared<T>(std::move(value)));
  }

  size_t waiting() const;  // jobs of all owners, and values to be freed

 private:
  struct Job;
  struct Share;
  using Shares = std::map<std::string, Share>;

  Task<Result<>> run_one(Owner owner, size_t bytes, std::function<void()> work);
  void leave(Job& job);
  void discard(std::shared_ptr<void> value);
  void free_discarded();
  Task<> free_on(WorkerThread& thread);
  void hand_out();
  Shares::iterator next_ready(Monotonic::time_point now);
  Result<WorkerThread*> idle_thread();
  Task<> work_on(WorkerThread& thread, std::shared_ptr<Job> job);
  void forget_idle(Monotonic::time_point now);

  Loop& loop_;
  Shares shares_;
  std::string last_;                              // the owner that had the last turn
  std::vector<std::shared_ptr<void>> discarded_;  // values to be freed; one thread takes all at once
  std::vector<std::unique_ptr<WorkerThread>> threads_;
  std::vector<WorkerThread*> idle_;
  Deadline refill_;
  Scope tasks_;  // last: cancelled first
};
