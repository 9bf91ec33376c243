#include "supervisor/cluster/bus/nats_sender.h"

#include <pthread.h>
#include <signal.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

namespace cluster {
namespace {

constexpr size_t kMaxJobs = 65'536;

// The threads of all senders. Never destroyed: the last thread may outlive main().
struct Senders {
  std::mutex mutex;
  std::condition_variable ended;
  size_t running = 0;
  std::vector<std::thread> over;  // they end, or have ended, and are not joined
};
Senders& all_senders() {
  static Senders& senders = *new Senders;
  return senders;
}

// What libraries keep for a thread is freed behind the thread's last line, so the end of a thread is its join.
void join(std::vector<std::thread> threads) {
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

struct NatsSender::Shared {
  struct Queued {
    size_t bytes;
    Job job;
  };
  size_t max_bytes = 0;
  std::shared_ptr<NatsHandover> handover;
  std::mutex mutex;
  std::condition_variable something;
  std::deque<Queued> queued;  // by mutex
  size_t bytes = 0;           // of queued, by mutex
  bool ending = false;        // by mutex
};

void NatsSender::run(Shared& shared) {
  NatsSession session(shared.handover);
  for (;;) {
    Shared::Queued next;
    {
      std::unique_lock lock(shared.mutex);
      shared.something.wait(lock, [&shared] { return !shared.queued.empty() || shared.ending; });
      if (shared.ending) return;
      next = std::move(shared.queued.front());
      shared.queued.pop_front();
      shared.bytes -= next.bytes;
    }
    next.job(session);
  }
}

Result<std::unique_ptr<NatsSender>> NatsSender::start(std::shared_ptr<NatsHandover> handover, size_t max_bytes) {
  auto shared = std::make_shared<Shared>();
  shared->max_bytes = max_bytes;
  shared->handover = std::move(handover);
  Senders& senders = all_senders();
  std::vector<std::thread> over;
  {
    const std::lock_guard lock(senders.mutex);
    over.swap(senders.over);
    senders.running++;
  }
  join(std::move(over));
  auto handle = std::make_shared<std::thread>();
  auto end = [&senders, handle] {
    const std::lock_guard lock(senders.mutex);
    senders.running--;
    if (handle->joinable()) senders.over.push_back(std::move(*handle));
    senders.ended.notify_all();
  };
  // This thread and those of libnats, which it makes, take no signals. So a write to a closed socket ends no process.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  Result<> created;
  try {
    const std::lock_guard lock(senders.mutex);  // end() finds the handle
    *handle = std::thread([shared, end]() mutable {
      run(*shared);
      shared.reset();
      end();
    });
  } catch (const std::exception& e) {
    end();
    created = fail(Code::internal, std::string("start a thread: ") + e.what());
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  CHECKED(std::move(created));
  return std::unique_ptr<NatsSender>(new NatsSender(std::move(shared)));
}

NatsSender::~NatsSender() {
  std::deque<Shared::Queued> dropped;  // destroyed without the lock
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->ending = true;
    dropped.swap(shared_->queued);
  }
  shared_->something.notify_one();
}

bool NatsSender::post(size_t bytes, Job job) {
  {
    const std::lock_guard lock(shared_->mutex);
    if (shared_->queued.size() >= kMaxJobs || shared_->bytes + bytes > shared_->max_bytes) return false;
    shared_->bytes += bytes;
    shared_->queued.push_back({bytes, std::move(job)});
  }
  shared_->something.notify_one();
  return true;
}

void NatsSender::post_always(Job job) {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->queued.push_back({0, std::move(job)});
  }
  shared_->something.notify_one();
}

bool wait_for_ended_buses(std::chrono::milliseconds limit) {
  Senders& senders = all_senders();
  std::vector<std::thread> over;
  bool have_ended = false;
  {
    std::unique_lock lock(senders.mutex);
    have_ended = senders.ended.wait_for(lock, limit, [&senders] { return senders.running == 0; });
    over.swap(senders.over);
  }
  join(std::move(over));
  return wait_for_ended_subscriptions(limit) && have_ended;
}

void end_bus_library(std::chrono::milliseconds limit) { end_libnats(limit); }

}  // namespace cluster
