#include "supervisor/base/work.h"

#include <algorithm>
#include <thread>

namespace {

using namespace std::chrono_literals;

constexpr int kNice = 5, kNiceOfLong = 19;
constexpr size_t kMaxRemembered = 1024;  // owners without jobs, remembered until their budgets are full again
constexpr auto kLookAtJobs = 5ms;        // at running jobs

size_t max_short_lanes() { return std::thread::hardware_concurrency() >= 4 ? 4 : 2; }

double seconds_of(std::chrono::nanoseconds time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

struct Work::Job {
  std::string owner;
  std::function<void(WorkMeter&)> work;
  size_t bytes = 0;
  Work* queue = nullptr;  // where the job waits; nullptr: it is running or done
  WorkMeter meter{WorkMeter::kMaxTime};
  Result<> result;
  Event done;
};

struct Work::Share {
  std::deque<std::shared_ptr<Job>> waiting;
  bool at_work = false;
  uint64_t rate = kBytesASecond;
  // A job may overdraw both credits, and the owner's next job waits until both are positive.
  double bytes = 0, seconds = 0;
  Monotonic::time_point counted_at;

  explicit Share(double seconds_a_second) : time_rate(seconds_a_second), max_time(4 * time_rate) {}
  const double time_rate, max_time;

  void fill(Monotonic::time_point now) {
    bytes = static_cast<double>(rate);
    seconds = max_time;
    counted_at = now;
  }
  void refill(Monotonic::time_point now) {
    const double passed = seconds_of(now - counted_at);
    bytes = std::min(bytes + passed * static_cast<double>(rate), static_cast<double>(rate));
    seconds = std::min(seconds + passed * time_rate, max_time);
    counted_at = now;
  }
  bool is_idle() const { return waiting.empty() && !at_work; }
  bool is_full() const { return bytes >= static_cast<double>(rate) && seconds >= max_time; }
  bool has_credit() const { return bytes > 0 && seconds > 0; }
  double seconds_to_wait() const {
    const double for_bytes = bytes > 0 ? 0 : (1 - bytes) / static_cast<double>(rate);
    const double for_time = seconds > 0 ? 0 : (0.001 - seconds) / time_rate;
    return std::max(for_bytes, for_time);
  }
};

// Lane: a thread with its running job.
struct Work::Lane {
  std::unique_ptr<WorkerThread> thread;
  std::shared_ptr<Job> job = nullptr;  // nullptr: the lane is idle, or frees values
  bool is_busy = false, is_long = false;
  std::chrono::nanoseconds started{0};  // by the clock of the thread

  std::chrono::nanoseconds used() const { return thread->processor_time() - started; }
};

Work::Work(Loop& loop, std::chrono::milliseconds time_a_second)
    : loop_(loop), seconds_a_second_(seconds_of(time_a_second)), tasks_(loop) {}

Work::~Work() {
  tasks_.cancel_all();
  for (auto& [name, share] : shares_)
    for (const auto& job : share.waiting) job->queue = nullptr;
  for (Lane& lane : lanes_)
    if (lane.job) lane.job->meter.cancel();
  const auto end = Monotonic::now() + kEnd;
  for (Lane& lane : lanes_) lane.thread->end_by(end);
}

size_t Work::waiting() const {
  size_t all = discarded_.size();
  for (const auto& [name, share] : shares_) all += share.waiting.size();
  return all;
}

bool Work::is_idle() const {
  return waiting() == 0 && std::none_of(lanes_.begin(), lanes_.end(), [](const Lane& lane) { return lane.is_busy; });
}

Task<Result<>> Work::run_one(Owner owner, size_t bytes, std::function<void(WorkMeter&)> work) {
  auto job = std::make_shared<Job>();
  job->owner = std::move(owner.name);
  job->work = std::move(work);
  job->bytes = bytes;
  job->queue = this;
  const auto now = Monotonic::now();
  forget_idle(now);
  auto [found, is_new] = shares_.try_emplace(job->owner, seconds_a_second_);
  Share& share = found->second;
  share.rate = std::max<uint64_t>(owner.bytes_per_second, 1);
  if (is_new) share.fill(now);
  share.waiting.push_back(job);
  hand_out();
  struct LaneGuard {
    std::shared_ptr<Job> job;
    ~LaneGuard() {
      job->meter.cancel();
      if (job->queue) job->queue->leave(*job);
    }
  } leave{job};
  co_await job->done;
  co_return job->result;
}

// The task that awaited the job was cancelled: the job does not run. Its captures may have many parts, so a thread
// frees them.
void Work::leave(Job& job) {
  job.queue = nullptr;
  auto work = std::make_shared<std::function<void(WorkMeter&)>>(std::move(job.work));
  std::erase_if(shares_.at(job.owner).waiting, [&job](const auto& item) { return item.get() == &job; });
  discard(std::move(work));
}

// Values are freed before all jobs, so that few values wait. The freed values were made on these threads, and making
// took longer than freeing.
void Work::discard(std::shared_ptr<void> value) {
  discarded_.push_back(std::move(value));
  free_discarded();
}

void Work::free_discarded() {
  if (discarded_.empty()) return;
  auto lane = idle_lane();
  if (!lane) return discarded_.clear();
  if (*lane == lanes_.end()) return;  // hand_out() frees them when a lane becomes idle
  (*lane)->is_busy = true;
  tasks_.spawn(free_on(*lane));
}

Task<> Work::free_on(Lanes::iterator lane) {
  auto all = std::make_shared<decltype(discarded_)>(std::exchange(discarded_, {}));
  WorkerThread::Job run = [all = std::move(all)]() -> Result<> {
    all->clear();
    return {};
  };
  (void)co_await lane->thread->run(std::move(run));
  release(lane);
  hand_out();
}

Work::Shares::iterator Work::next_ready(Monotonic::time_point now) {
  auto at = shares_.upper_bound(last_);
  for (size_t seen = 0; seen < shares_.size(); seen++, ++at) {
    if (at == shares_.end()) at = shares_.begin();
    Share& share = at->second;
    if (share.at_work || share.waiting.empty()) continue;
    share.refill(now);
    if (share.has_credit()) return at;
  }
  return shares_.end();
}

Result<Work::Lanes::iterator> Work::idle_lane() {
  const auto idle = std::find_if(lanes_.begin(), lanes_.end(), [](const Lane& lane) { return !lane.is_busy; });
  if (idle != lanes_.end() || lanes_.size() - long_ >= max_short_lanes()) return idle;
  TRY(auto thread, WorkerThread::start(loop_));
  thread->set_nice(kNice);
  return lanes_.insert(lanes_.end(), Lane{std::move(thread)});
}

void Work::hand_out() {
  const auto now = Monotonic::now();
  free_discarded();
  for (;;) {
    auto ready = next_ready(now);
    if (ready == shares_.end()) break;
    auto lane = idle_lane();
    if (lane && *lane == lanes_.end()) break;  // the next lane that becomes idle calls hand_out() again
    last_ = ready->first;
    Share& share = ready->second;
    auto job = std::move(share.waiting.front());
    share.waiting.pop_front();
    job->queue = nullptr;
    if (!lane) {
      job->result = tl::unexpected<Error>(std::move(lane).error());
      loop_.defer([weak = std::weak_ptr(job)] {
        if (auto item = weak.lock()) item->done.fire();
      });
      continue;
    }
    share.at_work = true;
    share.bytes -= static_cast<double>(job->bytes);
    (*lane)->is_busy = true;
    (*lane)->job = job;
    (*lane)->started = (*lane)->thread->processor_time();
    tasks_.spawn(work_on(*lane, std::move(job)));
  }
  watch_long_jobs();
  wait_for_budget();
}

// Calls hand_out() again when the first of the owners without budget has some.
void Work::wait_for_budget() {
  double soonest = -1;
  for (const auto& [name, share] : shares_) {
    if (share.at_work || share.waiting.empty() || share.has_credit()) continue;
    const double seconds = share.seconds_to_wait();
    if (soonest < 0 || seconds < soonest) soonest = seconds;
  }
  refill_ = Deadline();
  if (soonest < 0) return;
  const auto wait = std::chrono::milliseconds(static_cast<int64_t>(std::min(soonest, 3600.0) * 1000) + 1);
  refill_ = Deadline(loop_, wait, [this] { hand_out(); });
}

Task<> Work::work_on(Lanes::iterator lane, std::shared_ptr<Job> job) {
  auto used = std::make_shared<std::chrono::nanoseconds>(0);
  WorkerThread::Job run = [job, used]() -> Result<> {
    const auto start = thread_time();
    auto work = std::move(job->work);
    job->meter.begin();
    work(job->meter);
    work = nullptr;  // frees the captures here
    *used = thread_time() - start;
    return {};
  };
  job->result = co_await lane->thread->run(std::move(run));
  Share& share = shares_.at(job->owner);
  share.at_work = false;
  share.seconds -= seconds_of(*used);
  release(lane);  // before the waiting task continues: its next job then runs on the same thread
  job->done.fire();
  hand_out();
}

// The thread of a long job ends: without privileges, its priority cannot be raised again (setpriority(2)).
void Work::release(Lanes::iterator lane) {
  if (lane->is_long) {
    long_--;
    lane->thread->end_unwatched();
    lanes_.erase(lane);
  } else {
    lane->job = nullptr;
    lane->is_busy = false;
  }
}

void Work::watch_long_jobs() {
  const bool has_work =
      std::any_of(lanes_.begin(), lanes_.end(), [](const Lane& lane) { return lane.job && !lane.is_long; });
  if (!has_work || std::exchange(watches_, true)) return;
  long_jobs_ = Deadline(loop_, kLookAtJobs, [this] {
    watches_ = false;
    examine_long_jobs();
  });
}

void Work::examine_long_jobs() {
  for (Lane& lane : lanes_) {
    if (!lane.job || lane.is_long || lane.used() < kLong) continue;
    if (long_ == kMaxLong) {
      const auto it = std::max_element(lanes_.begin(), lanes_.end(), [](const Lane& a, const Lane& b) {
        return (a.is_long ? a.used() : 0ns) < (b.is_long ? b.used() : 0ns);
      });
      it->job->meter.end_early();
      continue;
    }
    lane.thread->set_nice(kNiceOfLong);
    lane.is_long = true;
    long_++;
  }
  hand_out();
}

void Work::forget_idle(Monotonic::time_point now) {
  if (shares_.size() < kMaxRemembered) return;
  for (auto at = shares_.begin(); at != shares_.end();) {
    Share& share = at->second;
    share.refill(now);
    at = share.is_idle() && share.is_full() ? shares_.erase(at) : std::next(at);
  }
}
