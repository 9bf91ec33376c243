#include "supervisor/base/json_work.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "supervisor/base/log.h"

namespace {

constexpr int kNice = 5;
constexpr size_t kMaxRemembered = 1024;  // owners without jobs, remembered until their budgets are full again

// Lowers the priority of the calling thread. If the kernel refuses, the thread runs at the loop's priority.
void lower_priority() {
  static thread_local const bool lowered = ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNice) == 0;
  (void)lowered;
}

size_t max_threads() { return std::thread::hardware_concurrency() >= 4 ? 2 : 1; }

}  // namespace

struct JsonWork::Job {
  std::string owner;
  std::function<void()> work;
  size_t bytes = 0;
  JsonWork* queue = nullptr;  // where the job waits; nullptr: it is running or done
  Result<> result;
  Event done;
};

struct JsonWork::Share {
  std::deque<std::shared_ptr<Job>> waiting;
  bool at_work = false;
  uint64_t rate = kBytesASecond;
  double credit = 0;  // bytes; a job may overdraw the credit, and the owner's next job waits until it is positive
  Monotonic::time_point counted_at;

  void refill(Monotonic::time_point now) {
    const double seconds = std::chrono::duration<double>(now - counted_at).count();
    credit = std::min(credit + seconds * static_cast<double>(rate), static_cast<double>(rate));
    counted_at = now;
  }
  bool is_idle() const { return waiting.empty() && !at_work; }
  double seconds_to_wait() const { return credit > 0 ? 0 : (1 - credit) / static_cast<double>(rate); }
};

JsonWork::JsonWork(Loop& loop) : loop_(loop), tasks_(loop) {}

JsonWork::~JsonWork() {
  tasks_.cancel_all();
  for (auto& [name, share] : shares_)
    for (const auto& job : share.waiting) job->queue = nullptr;
  threads_.clear();  // joins
}

size_t JsonWork::waiting() const {
  size_t all = discarded_.size();
  for (const auto& [name, share] : shares_) all += share.waiting.size();
  return all;
}

Task<Result<>> JsonWork::run_one(Owner owner, size_t bytes, std::function<void()> work) {
  auto job = std::make_shared<Job>();
  job->owner = std::move(owner.name);
  job->work = std::move(work);
  job->bytes = bytes;
  job->queue = this;
  const auto now = Monotonic::now();
  forget_idle(now);
  auto [found, is_new] = shares_.try_emplace(job->owner);
  Share& share = found->second;
  share.rate = std::max<uint64_t>(owner.bytes_per_second, 1);
  if (is_new) {
    share.credit = static_cast<double>(share.rate);
    share.counted_at = now;
  }
  share.waiting.push_back(job);
  hand_out();
  struct Leave {
    std::shared_ptr<Job> job;
    ~Leave() {
      if (job->queue) job->queue->leave(*job);
    }
  } leave{job};
  co_await job->done;
  co_return job->result;
}

// The task that awaited the job was cancelled: the job does not run. Its captures may have many parts, so a thread
// frees them.
void JsonWork::leave(Job& job) {
  job.queue = nullptr;
  auto work = std::make_shared<std::function<void()>>(std::move(job.work));
  std::erase_if(shares_.at(job.owner).waiting, [&job](const auto& one) { return one.get() == &job; });
  discard(std::move(work));
}

// Values are freed before all jobs, so that few values wait. The freed values were made on these threads, and making
// took longer than freeing.
void JsonWork::discard(std::shared_ptr<void> value) {
  discarded_.push_back(std::move(value));
  free_discarded();
}

void JsonWork::free_discarded() {
  if (discarded_.empty()) return;
  auto thread = idle_thread();
  if (thread && !*thread) return;  // hand_out() frees them when a thread becomes idle
  if (!thread) return discarded_.clear();
  idle_.pop_back();
  tasks_.spawn(free_on(**thread));
}

Task<> JsonWork::free_on(WorkerThread& thread) {
  auto all = std::make_shared<decltype(discarded_)>(std::exchange(discarded_, {}));
  WorkerThread::Job run = [all = std::move(all)]() -> Result<> {
    lower_priority();
    all->clear();
    return {};
  };
  (void)co_await thread.run(std::move(run));
  idle_.push_back(&thread);
  hand_out();
}

JsonWork::Shares::iterator JsonWork::next_ready(Monotonic::time_point now) {
  auto at = shares_.upper_bound(last_);
  for (size_t seen = 0; seen < shares_.size(); seen++, ++at) {
    if (at == shares_.end()) at = shares_.begin();
    Share& share = at->second;
    if (share.at_work || share.waiting.empty()) continue;
    share.refill(now);
    if (share.credit > 0) return at;
  }
  return shares_.end();
}

Result<WorkerThread*> JsonWork::idle_thread() {
  if (idle_.empty() && threads_.size() < max_threads()) {
    TRY(auto thread, WorkerThread::start(loop_));
    idle_.push_back(thread.get());
    threads_.push_back(std::move(thread));
  }
  return idle_.empty() ? nullptr : idle_.back();
}

void JsonWork::hand_out() {
  const auto now = Monotonic::now();
  free_discarded();
  for (;;) {
    auto ready = next_ready(now);
    if (ready == shares_.end()) break;
    auto thread = idle_thread();
    if (thread && !*thread) return;  // the next thread that becomes idle calls hand_out() again
    last_ = ready->first;
    Share& share = ready->second;
    auto job = std::move(share.waiting.front());
    share.waiting.pop_front();
    job->queue = nullptr;
    if (!thread) {
      job->result = tl::unexpected<Error>(std::move(thread).error());
      loop_.defer([weak = std::weak_ptr(job)] {
        if (auto one = weak.lock()) one->done.fire();
      });
      continue;
    }
    idle_.pop_back();
    share.at_work = true;
    share.credit -= static_cast<double>(job->bytes);
    tasks_.spawn(work_on(**thread, std::move(job)));
  }
  double soonest = -1;
  for (const auto& [name, share] : shares_) {
    if (share.at_work || share.waiting.empty()) continue;
    const double seconds = share.seconds_to_wait();
    if (soonest < 0 || seconds < soonest) soonest = seconds;
  }
  refill_ = Deadline();
  if (soonest < 0) return;
  const auto wait = std::chrono::milliseconds(static_cast<int64_t>(std::min(soonest, 3600.0) * 1000) + 1);
  refill_ = Deadline(loop_, wait, [this] { hand_out(); });
}

Task<> JsonWork::work_on(WorkerThread& thread, std::shared_ptr<Job> job) {
  WorkerThread::Job run = [job]() -> Result<> {
    lower_priority();
    auto work = std::move(job->work);
    work();
    return {};
  };
  job->result = co_await thread.run(std::move(run));
  idle_.push_back(&thread);
  shares_.at(job->owner).at_work = false;
  job->done.fire();
  hand_out();
}

void JsonWork::forget_idle(Monotonic::time_point now) {
  if (shares_.size() < kMaxRemembered) return;
  for (auto at = shares_.begin(); at != shares_.end();) {
    Share& share = at->second;
    share.refill(now);
    const bool is_full = share.credit >= static_cast<double>(share.rate);
    at = share.is_idle() && is_full ? shares_.erase(at) : std::next(at);
  }
}
