#include "supervisor/base/worker_thread.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

namespace {
std::atomic<bool> is_any_left_alone{false};
}

struct WorkerThread::Ticket {
  Job job;
  std::atomic<bool> is_wanted{true};
  Result<> result;
  Event done;  // fired on the loop
};

struct WorkerThread::Shared {
  std::mutex mutex;
  std::condition_variable something, has_ended;
  id_t number = 0;                                // by `mutex`: gettid(2) of the thread; 0: it has not begun
  int nice = 0;                                   // by `mutex`; 0: unchanged
  bool ended = false;                             // by `mutex`: run() is about to return
  std::deque<std::shared_ptr<Ticket>> queued;     // by `mutex`
  std::vector<std::shared_ptr<Ticket>> finished;  // by `mutex`
  std::atomic<bool> ending{false};
  LoopWake::Sender loop;
  std::thread thread;

  void run() {
    {
      std::lock_guard lock(mutex);
      number = static_cast<id_t>(::gettid());
      if (nice != 0) (void)::setpriority(PRIO_PROCESS, number, nice);
    }
    work();
    {
      std::lock_guard lock(mutex);
      ended = true;
    }
    has_ended.notify_all();
  }

  void work() {
    for (;;) {
      std::shared_ptr<Ticket> ticket;
      {
        std::unique_lock lock(mutex);
        something.wait(lock, [this] { return !queued.empty() || ending; });
        if (ending) return;
        ticket = std::move(queued.front());
        queued.pop_front();
      }
      try {
        if (ticket->is_wanted) ticket->result = ticket->job();
      } catch (const std::exception& e) {
        ticket->result = fail(Code::internal, std::string("bug in a job of the worker thread: ") + e.what());
      }
      ticket->job = nullptr;  // frees the captures here, not on the loop
      {
        std::lock_guard lock(mutex);
        finished.push_back(std::move(ticket));
      }
      loop.send();
    }
  }
};

Result<std::unique_ptr<WorkerThread>> WorkerThread::start(Loop& loop) {
  std::unique_ptr<WorkerThread> worker(new WorkerThread);
  TRY(worker->wake_, LoopWake::open(loop, [worker = worker.get()] { worker->deliver(); }));
  worker->shared_ = std::make_shared<Shared>();
  worker->shared_->loop = worker->wake_->sender();
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // the thread inherits the mask: only the loop takes signals
  try {
    worker->shared_->thread = std::thread([shared = worker->shared_] { shared->run(); });
  } catch (const std::exception& e) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return fail(Code::internal, std::string("start a thread: ") + e.what());
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return worker;
}

WorkerThread::~WorkerThread() {
  if (!shared_ || !shared_->thread.joinable()) return;
  {
    std::lock_guard lock(shared_->mutex);
    shared_->ending = true;
  }
  shared_->something.notify_one();
  shared_->thread.join();
}

void WorkerThread::end_by(Monotonic::time_point time) {
  {
    std::unique_lock lock(shared_->mutex);
    shared_->ending = true;
    shared_->something.notify_one();
    if (shared_->has_ended.wait_until(lock, time, [this] { return shared_->ended; })) {
      lock.unlock();
      return shared_->thread.join();
    }
  }
  is_any_left_alone = true;
  shared_->thread.detach();
}

void WorkerThread::end_unwatched() {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->ending = true;
  }
  shared_->something.notify_one();
  shared_->thread.detach();
}

bool WorkerThread::any_left_alone() { return is_any_left_alone; }

void WorkerThread::set_nice(int nice) {
  std::lock_guard lock(shared_->mutex);
  shared_->nice = nice;
  if (shared_->number != 0) (void)::setpriority(PRIO_PROCESS, shared_->number, nice);
}

std::chrono::nanoseconds WorkerThread::processor_time() const {
  clockid_t clock{};
  struct timespec used {};
  if (::pthread_getcpuclockid(shared_->thread.native_handle(), &clock) != 0 || ::clock_gettime(clock, &used) < 0)
    return {};
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

bool WorkerThread::is_ending() const { return shared_->ending; }

Task<Result<>> WorkerThread::run(Job job) {
  auto ticket = std::make_shared<Ticket>();
  ticket->job = std::move(job);
  {
    std::lock_guard lock(shared_->mutex);
    shared_->queued.push_back(ticket);
  }
  shared_->something.notify_one();
  struct LaneGuard {
    std::shared_ptr<Ticket> ticket;
    ~LaneGuard() { ticket->is_wanted = false; }
  } leave{ticket};
  co_await ticket->done;
  co_return ticket->result;
}

void WorkerThread::deliver() {
  std::vector<std::shared_ptr<Ticket>> finished;
  {
    std::lock_guard lock(shared_->mutex);
    finished.swap(shared_->finished);
  }
  for (const auto& ticket : finished) ticket->done.fire();
}
