// Work: runs jobs on data of agents, jails, servers and nodes on threads beside the loop, so that no owner waits for
// the data of another. An owner is a tenant, a user with an unread request, a server or a node. Owners take turns. Each
// owner has at most one running job, and its jobs run in the order of their run() calls. Each owner has a budget of
// bytes and of processor time per second; an owner without budget waits, the others do not. A job that has used kLong
// of processor time gives its thread's place to another thread, and its own thread continues at the lowest priority, so
// that short jobs do not wait behind long ones. A job that gets a WorkMeter ends after WorkMeter::kMaxTime of processor
// time, or soon after its caller was cancelled. Other jobs are linear in their input. The threads start with the first
// job. They run at a lower priority than the loop (nice 5). Used by: supervisor/protocol/mcp, supervisor/upstream,
// supervisor/upstream/calls, jail.
#pragma once
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "supervisor/base/clock.h"
#include "supervisor/base/json/value_bytes.h"
#include "supervisor/base/loop.h"
#include "supervisor/base/result.h"
#include "supervisor/base/task.h"
#include "supervisor/base/work_meter.h"
#include "supervisor/base/worker_thread.h"

class Work {
 public:
  static constexpr size_t kSmall = kSmallText;                   // bytes; longer texts are read and written by Work
  static constexpr uint64_t kBytesASecond = 64 << 20;            // where no policy has another number
  static constexpr std::chrono::milliseconds kTimeASecond{500};  // processor time of an owner, in each second
  static constexpr std::chrono::milliseconds kLong{20};          // processor time
  static constexpr size_t kMaxLong = 8;                          // threads of long jobs
  static constexpr std::chrono::seconds kEnd{1};  // the destructor waits at most this long for running jobs

  struct Owner {
    std::string name;
    uint64_t bytes_per_second = kBytesASecond;
  };

  // `time_a_second`: less in tests. The loop must outlive this object.
  explicit Work(Loop& loop, std::chrono::milliseconds time_a_second = kTimeASecond);
  // Cancels the running jobs, and waits for them at most kEnd. Threads with jobs that have not ended then are left
  // alone (WorkerThread::end_by()). Waiting jobs are dropped, and the tasks that await them are never resumed.
  ~Work();
  Work(const Work&) = delete;

  // Runs `job` on a thread, in the owner's turn, and returns the job's result. `bytes`: charged to the owner's budget.
  // The job owns all that it uses, as the calling task may be cancelled meanwhile. It must not touch data of the loop's
  // thread. After a cancelled call, a job that has not begun does not run, and its captures are freed on a thread.
  // Errors: internal, if no thread can be made, or if the job threw; those of the meter, if the job returns them.
  template <class T>
  Task<Result<T>> run(Owner owner, size_t bytes, std::function<Result<T>(WorkMeter&)> job) {
    auto done = std::make_shared<Result<T>>(fail(Code::internal, "a job was not run"));
    std::function<void(WorkMeter&)> work = [job = std::move(job), done](WorkMeter& meter) { *done = job(meter); };
    CO_CHECKED(co_await run_one(std::move(owner), bytes, std::move(work)));
    co_return std::move(*done);
  }
  // The same for a job whose time is linear in the size of its input.
  template <class T>
  Task<Result<T>> run(Owner owner, size_t bytes, std::function<Result<T>()> job) {
    auto done = std::make_shared<Result<T>>(fail(Code::internal, "a job was not run"));
    std::function<void(WorkMeter&)> work = [job = std::move(job), done](WorkMeter&) { *done = job(); };
    CO_CHECKED(co_await run_one(std::move(owner), bytes, std::move(work)));
    co_return std::move(*done);
  }

  // Frees a value with many parts on a thread, before all waiting jobs. No owner is charged.
  template <class T>
  void free_elsewhere(T value) {
    discard(std::make_shared<T>(std::move(value)));
  }

  size_t waiting() const;  // jobs of all owners, and values to be freed
  // No job waits or runs. For tests.
  bool is_idle() const;

 private:
  struct Job;
  struct Share;
  struct Lane;
  using Shares = std::map<std::string, Share>;
  using Lanes = std::list<Lane>;

  Task<Result<>> run_one(Owner owner, size_t bytes, std::function<void(WorkMeter&)> work);
  void leave(Job& job);
  void discard(std::shared_ptr<void> value);
  void free_discarded();
  Task<> free_on(Lanes::iterator lane);
  void hand_out();
  void wait_for_budget();
  Shares::iterator next_ready(Monotonic::time_point now);
  // The end of the list: all threads are busy.
  Result<Lanes::iterator> idle_lane();
  Task<> work_on(Lanes::iterator lane, std::shared_ptr<Job> job);
  void release(Lanes::iterator lane);
  void examine_long_jobs();
  void watch_long_jobs();
  void forget_idle(Monotonic::time_point now);

  Loop& loop_;
  const double seconds_a_second_;  // processor time of an owner
  Shares shares_;
  std::string last_;                              // the owner that had the last turn
  std::vector<std::shared_ptr<void>> discarded_;  // values to be freed; one thread takes all at once
  Lanes lanes_;
  size_t long_ = 0;  // lanes with long jobs
  Deadline refill_, long_jobs_;
  bool watches_ = false;  // long_jobs_ is armed
  Scope tasks_;           // last: cancelled first
};
