#include "supervisor/journal/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <thread>
#include <vector>

namespace journal {
namespace {

constexpr std::chrono::seconds kSyncEvery{1};   // buffered: how long a commit may wait for the disk
constexpr std::chrono::seconds kRetryEvery{1};  // promised work after a commit that failed

bool is_of_disk(const Result<>& result) {
  return !result && (result.error().code == Code::exhausted || result.error().code == Code::unavailable);
}

}  // namespace

struct Writer::Pending {
  Work work;
  Promise promise;
  Result<> result;
  Event done;  // fired on the loop
};

struct Writer::Wake {
  uv_async_t handle;
  Writer* writer;
};

void Writer::CloseWake::operator()(Wake* wake) const {
  uv_close(reinterpret_cast<uv_handle_t*>(&wake->handle), [](uv_handle_t* h) { delete static_cast<Wake*>(h->data); });
}

struct Writer::Shared {
  Shared(Database d, Durability how) : database(std::move(d)), durability(how) {}
  Database database;  // the thread's
  const Durability durability;
  uv_async_t* wake = nullptr;
  std::mutex mutex;
  std::condition_variable something;
  std::vector<Ticket> again;             // the thread's: promised, and not committed
  std::vector<Ticket> queued, finished;  // by `mutex`, like the next two
  bool ending = false;
  bool failed = false;
  std::atomic<uint64_t> commits{0};
  std::thread thread;

  void run();
  void commit(std::vector<Ticket>& group);
  Result<> commit_all(std::vector<Ticket>& group);
  Result<> do_work(const Work& work);
  void reach_disk();
};

Result<std::unique_ptr<Writer>> Writer::start(Loop& loop, Database database, Durability durability) {
  CHECKED(database.set_sync(durability == Durability::durable ? Sync::full : Sync::normal));
  std::unique_ptr<Writer> writer(new Writer);
  writer->loop_ = &loop;
  auto wake = std::make_unique<Wake>();
  auto woken = [](uv_async_t* handle) {
    const Doing doing(LoopWork::journal);
    static_cast<Wake*>(handle->data)->writer->deliver();
  };
  if (uv_async_init(loop.uv(), &wake->handle, woken) < 0) return fail(Code::internal, "uv_async_init");
  wake->writer = writer.get();
  wake->handle.data = wake.get();
  writer->wake_.reset(wake.release());
  writer->shared_ = std::make_unique<Shared>(std::move(database), durability);
  writer->shared_->wake = &writer->wake_->handle;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // inherited: signals are the loop's
  writer->shared_->thread = std::thread([shared = writer->shared_.get()] { shared->run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return writer;
}

Writer::~Writer() {
  if (!shared_) return;
  {
    std::lock_guard lock(shared_->mutex);
    shared_->ending = true;
  }
  shared_->something.notify_one();
  shared_->thread.join();
}

Writer::Ticket Writer::queue(Work work, When when, Promise promise) {
  auto ticket = std::make_shared<Pending>();
  ticket->work = std::move(work);
  ticket->promise = promise;
  bool taken = false;
  {
    std::lock_guard lock(shared_->mutex);
    if (promise == Promise::made || shared_->queued.size() < kMostWaiting) {
      shared_->queued.push_back(ticket);
      taken = true;
    }
  }
  if (taken && when == When::now) hurry();
  if (taken && when == When::soon && !soon_) soon_.emplace(*loop_, kSoon, [this] { hurry(); });
  if (taken) return ticket;
  ticket->work = nullptr;
  ticket->result = fail(Code::exhausted, "the journal is behind", "wait; the state folder's disk is slow or full");
  ticket->done.fire();
  return ticket;
}

void Writer::hurry() {
  soon_.reset();
  shared_->something.notify_one();
}

Task<Result<>> Writer::committed(Ticket ticket) {
  co_await ticket->done;
  co_return ticket->result;
}

uint64_t Writer::commits() const { return shared_->commits; }

bool Writer::is_done(const Ticket& ticket) { return ticket->done.fired(); }

void Writer::deliver() {
  std::vector<Ticket> finished;
  {
    std::lock_guard lock(shared_->mutex);
    finished.swap(shared_->finished);
    failing_ = shared_->failed;
  }
  for (const Ticket& ticket : finished) ticket->done.fire();
}

void Writer::Shared::run() {
  bool behind = false;  // commits have not reached the disk
  for (;;) {
    std::vector<Ticket> group = std::exchange(again, {});
    bool last = false;
    {
      std::unique_lock lock(mutex);
      auto due = [this] { return !queued.empty() || ending; };
      if (!group.empty()) {
        something.wait_for(lock, kRetryEvery, due);
      } else if (!behind) {
        something.wait(lock, due);
      } else if (!something.wait_for(lock, kSyncEvery, due)) {
        lock.unlock();
        reach_disk();
        behind = false;
        continue;
      }
      if (queued.empty() && group.empty()) break;  // ending
      group.insert(group.end(), queued.begin(), queued.end());
      queued.clear();
      last = ending;
    }
    commit(group);
    behind = durability == Durability::buffered;
    if (last) again.clear();  // whoever promised it wrote it down elsewhere, too
    {
      std::lock_guard lock(mutex);
      finished.insert(finished.end(), group.begin(), group.end());
    }
    uv_async_send(wake);
  }
  if (behind) reach_disk();
}

// Every ticket that stays in the group has its result.
void Writer::Shared::commit(std::vector<Ticket>& group) {
  auto committed = commit_all(group);
  if (!committed) {
    auto is_open = [](const Ticket& ticket) { return ticket->promise == Promise::open; };
    const auto promised = std::stable_partition(group.begin(), group.end(), is_open);
    again.assign(promised, group.end());
    group.erase(promised, group.end());
  }
  for (const Ticket& ticket : group) {
    if (!committed) ticket->result = tl::unexpected<Error>(committed.error());
    ticket->work = nullptr;  // its captures end here, not on the loop
  }
  if (committed) commits++;
  std::lock_guard lock(mutex);
  failed = !committed.has_value();
}

// An exception is a bug of whoever queued the work, and no reason for the daemon to end.
Result<> Writer::Shared::do_work(const Work& work) {
  try {
    return work(database);
  } catch (const std::exception& e) {
    return fail(Code::internal, std::string("bug in work for the journal: ") + e.what());
  }
}

Result<> Writer::Shared::commit_all(std::vector<Ticket>& group) {
  TRY(Transaction transaction, Transaction::begin(database));
  for (const Ticket& ticket : group) {
    CHECKED(database.run("SAVEPOINT work"));
    ticket->result = do_work(ticket->work);
    if (ticket->promise == Promise::made && is_of_disk(ticket->result)) return ticket->result;
    // A full disk may have taken the whole transaction back already: then that is why everybody failed.
    if (!ticket->result && !database.run("ROLLBACK TO work")) return ticket->result;
    CHECKED(database.run("RELEASE work"));
  }
  return transaction.commit();
}

// A commit that waits for the disk takes all before it along: the write-ahead log is one file. When that cannot be done
// the next commit says why.
void Writer::Shared::reach_disk() {
  if (!database.set_sync(Sync::full)) return;
  auto synced = [this]() -> Result<> {
    TRY(Transaction transaction, Transaction::begin(database));
    TRY(auto format, database.number("PRAGMA user_version"));
    CHECKED(database.execute(fmt::format("PRAGMA user_version={}", format.value_or(0)).c_str()));  // writes a page
    return transaction.commit();
  }();
  static_cast<void>(synced);
  static_cast<void>(database.set_sync(Sync::normal));
}

}  // namespace journal
