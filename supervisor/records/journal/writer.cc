#include "supervisor/records/journal/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "supervisor/base/disk_faults.h"

namespace journal {
namespace {

constexpr std::chrono::seconds kSyncEvery{1};   // buffered: how long a commit may wait for the disk
constexpr std::chrono::seconds kRetryEvery{1};  // promised work after a commit that failed

bool is_of_disk(const Result<>& result) {
  return !result && (result.error().code == Code::exhausted || result.error().code == Code::unavailable);
}

// A commit that waits for the disk takes all earlier ones along, because the write-ahead log is one file. On failure
// the next commit reports the reason.
void reach_disk(Database& database) {
  if (!database.set_sync(Sync::full)) return;
  auto synced = [&database]() -> Result<> {
    TRY(Transaction transaction, Transaction::begin(database));
    TRY(auto format, database.number("PRAGMA user_version"));
    CHECKED(database.execute(fmt::format("PRAGMA user_version={}", format.value_or(0)).c_str()));  // writes a page
    return transaction.commit();
  }();
  static_cast<void>(synced);
  static_cast<void>(database.set_sync(Sync::normal));
}

// An exception is a bug of the work and must not end the daemon.
Result<> do_work(const Writer::Work& work, Database& database) {
  try {
    return work(database);
  } catch (const std::exception& e) {
    return fail(Code::internal, std::string("bug in work for the journal: ") + e.what());
  }
}

}  // namespace

struct Writer::Pending {
  Work work;
  Promise promise;
  Result<> result;
  Event done;  // fires on the loop
};

// One transaction, run on the thread.
struct Writer::Commit {
  Group group;
  Group again = {};  // promised work of a failed commit, for another try
  Result<> result = {};
  bool is_started = false;
  bool may_wait = false;     // for space: the work stays undone when there is no space
  bool lacks_space = false;  // it was not done for that reason

  void run(Database& database);
  Result<> commit_all(Database& database);
};

Result<std::unique_ptr<Writer>> Writer::start(Loop& loop, Database database, Durability durability) {
  CHECKED(database.set_sync(durability == Durability::durable ? Sync::full : Sync::normal));
  std::unique_ptr<Writer> writer(new Writer(loop, std::move(database), durability));
  TRY(writer->thread_, WorkerThread::start(loop));
  return writer;
}

Writer::~Writer() {
  tasks_.cancel_all();
  thread_.reset();  // finishes the commit that it has begun
  if (commit_ && commit_->is_started) give_back(*commit_);
  Commit last{std::exchange(retries_, {})};
  if (commit_ && !commit_->is_started)
    last.group.insert(last.group.end(), commit_->group.begin(), commit_->group.end());
  last.group.insert(last.group.end(), queued_.begin(), queued_.end());
  // Acknowledged ends of executions are also in the spool, so a failure here does not lose them.
  if (!last.group.empty()) last.run(database_);
  if (is_behind_ || (!last.group.empty() && durability_ == Durability::buffered)) reach_disk(database_);
}

Writer::Ticket Writer::queue(Work work, When when, Promise promise) {
  auto ticket = std::make_shared<Pending>();
  ticket->work = std::move(work);
  ticket->promise = promise;
  if (promise == Promise::open && queued_.size() >= kMaxWaiting) {
    ticket->work = nullptr;
    ticket->result =
        fail(Code::exhausted, "the journal is behind", "try again later; the state folder's disk is slow or full");
    ticket->done.fire();
    return ticket;
  }
  queued_.push_back(ticket);
  if (when == When::now) commit_now();
  if (when == When::soon && !soon_) soon_.emplace(loop_, kSoon, [this] { commit_now(); });
  return ticket;
}

void Writer::commit_now() {
  soon_.reset();
  if (!is_writing_ && !queued_.empty()) tasks_.spawn(write());
}

Task<Result<>> Writer::committed(Ticket ticket) {
  co_await ticket->done;
  co_return ticket->result;
}

bool Writer::is_done(const Ticket& ticket) { return ticket->done.fired(); }

Task<> Writer::write() {
  is_writing_ = true;
  do {
    commit_ = std::make_shared<Commit>();
    commit_->group = std::exchange(retries_, {});
    commit_->group.insert(commit_->group.end(), queued_.begin(), queued_.end());
    queued_.clear();
    const WorkerThread::Job job = [this, commit = commit_]() -> Result<> {
      commit->run(database_);
      return {};
    };
    commit_->may_wait = static_cast<bool>(relieve_);
    static_cast<void>(co_await thread_->run(job));
    for (int tries = 0; commit_->lacks_space; tries++) {
      const bool has_more = co_await relieve_();
      commit_->may_wait = has_more && tries == 0;
      static_cast<void>(co_await thread_->run(job));
    }
    const NamedWork named_work(LoopWork::journal);
    const auto done = std::exchange(commit_, nullptr);
    give_back(*done);
    for (const Ticket& ticket : done->group) ticket->done.fire();
    if (is_behind_ && !sync_) sync_.emplace(loop_, kSyncEvery, [this] { tasks_.spawn(catch_up()); });
  } while (!queued_.empty());
  is_writing_ = false;
  retry_.reset();
  if (!retries_.empty()) {
    retry_.emplace(loop_, kRetryEvery, [this] {
      if (!is_writing_) tasks_.spawn(write());
    });
  }
}

// Takes over the result of a commit that the thread ran.
void Writer::give_back(Commit& commit) {
  failing_ = !commit.result;
  retries_ = std::move(commit.again);
  if (failing_) return;
  commits_++;
  is_behind_ = durability_ == Durability::buffered;
}

Task<> Writer::catch_up() {
  sync_.reset();
  const WorkerThread::Job job = [this]() -> Result<> {
    reach_disk(database_);
    return {};
  };
  static_cast<void>(co_await thread_->run(job));
  is_behind_ = false;  // later commits set it again in give_back()
}

// Afterwards every ticket that stays in the group has its result.
void Writer::Commit::run(Database& database) {
  is_started = true;
  lacks_space = false;
  const disk_faults::FaultCounts before = disk_faults::noted();
  try {
    result = commit_all(database);
  } catch (const std::exception& e) {  // probably out of memory: the transaction is not committed
    result = fail(Code::internal, std::string("bug in a commit of the journal: ") + e.what());
  }
  const disk_faults::FaultCounts faults = disk_faults::noted();
  const bool has_failed = !result || (group.size() == 1 && !group.front()->result);
  if (has_failed && may_wait && faults.count != before.count && faults.last == ENOSPC) {
    lacks_space = true;
    is_started = false;
    return;
  }
  if (!result) {
    auto is_open = [](const Ticket& ticket) { return ticket->promise == Promise::open; };
    const auto promised = std::stable_partition(group.begin(), group.end(), is_open);
    again.assign(promised, group.end());
    group.erase(promised, group.end());
  }
  for (const Ticket& ticket : group) {
    if (!result) ticket->result = tl::unexpected<Error>(result.error());
    ticket->work = nullptr;  // its captures are freed here, not on the loop
  }
}

Result<> Writer::Commit::commit_all(Database& database) {
  TRY(Transaction transaction, Transaction::begin(database));
  const bool is_alone = group.size() == 1;  // then the transaction is its savepoint
  for (const Ticket& ticket : group) {
    if (!is_alone) CHECKED(database.run("SAVEPOINT work"));
    ticket->result = do_work(ticket->work, database);
    if (ticket->promise == Promise::acknowledged && is_of_disk(ticket->result)) return ticket->result;
    if (is_alone) {
      if (!ticket->result) return {};  // rolled back with the transaction
      break;
    }
    // A full disk may have rolled back the whole transaction already. Then that error is the reason for all work of the
    // group.
    if (!ticket->result && !database.run("ROLLBACK TO work")) return ticket->result;
    CHECKED(database.run("RELEASE work"));
  }
  return transaction.commit();
}

}  // namespace journal
