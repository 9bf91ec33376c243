// JsonWork: reads and writes large JSON on threads beside the loop, so that nobody waits for somebody else's bytes.
// Owners (a tenant; a user whose request is not read yet) take turns. Each has one job at work at a time, done in the
// order in which they were given, and a budget of bytes for each second: who has used it up waits, and nobody else.
// The threads start with the first job; they run at a lower priority than the loop (nice 5).
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
  static constexpr size_t kSmall = kSmallText;         // longer texts are its work
  static constexpr uint64_t kBytesASecond = 64 << 20;  // where no policy says otherwise

  struct Owner {
    std::string name;
    uint64_t bytes_per_second = kBytesASecond;
  };

  // The loop must outlive it.
  explicit JsonWork(Loop& loop);
  // Waits for the jobs at work; those that wait are dropped, and whoever awaits them is never woken.
  ~JsonWork();
  JsonWork(const JsonWork&) = delete;

  // Runs `job` on a thread, in the owner's turn, and returns what it returned. `bytes`: what the budget is charged.
  // The job owns what it uses, as whoever waits may be cancelled meanwhile; it touches nothing of the loop's. One that
  // was not begun by then is not done, and what it owns is freed on a thread.
  // Errors: internal, where no thread can be made, or the job threw.
  template <class T>
  Task<Result<T>> run(Owner owner, size_t bytes, std::function<Result<T>()> job) {
    auto done = std::make_shared<Result<T>>(fail(Code::internal, "a job of the JSON threads was not run"));
    std::function<void()> work = [job = std::move(job), done] { *done = job(); };
    CO_CHECKED(co_await run_one(std::move(owner), bytes, std::move(work)));
    co_return std::move(*done);
  }

  // Frees a value that has many parts on a thread, before any job that waits for one. Is charged to nobody.
  template <class T>
  void free_elsewhere(T value) {
    discard(std::make_shared<T>(std::move(value)));
  }

  size_t waiting() const;  // jobs of all owners, and values that are to be freed

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
  std::string last_;                              // the owner whose turn was last
  std::vector<std::shared_ptr<void>> discarded_;  // one thread takes all that is there
  std::vector<std::unique_ptr<WorkerThread>> threads_;
  std::vector<WorkerThread*> idle_;
  Deadline refill_;
  Scope tasks_;  // last: cancelled first
};
