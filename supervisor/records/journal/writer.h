// Writer: the only user of the journal's file after the start, on a separate thread (WorkerThread), so that a slow disk
// never stops the loop. Work is done in the order of the queue. All waiting work becomes one transaction (group
// commit).
//
// A commit promises:
//   durable   The commit has reached the disk (synchronous=FULL). It survives a power failure.
//   buffered  The commit is written to the file (synchronous=NORMAL). It survives the end of the process at any
//             moment, kill -9 included, but no power failure. It reaches the disk within a second.
// Half a transaction is never left.
//
// Source: journal.cc. Errors: those of the work or of the commit. Work that fails is rolled back alone; the rest of its
// group is committed. Work that was acknowledged already is tried again, in its place, until a commit succeeds.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "supervisor/base/loop.h"
#include "supervisor/base/worker_thread.h"
#include "supervisor/records/journal/database.h"

namespace journal {

enum class Durability { durable, buffered };

class Writer {
 public:
  // Runs on the writer's thread, once for each try. Owns all its data, because its creator may be destroyed before.
  // Touches no other data. It leaves results in memory shared with its owner, which reads them after committed().
  using Work = std::function<Result<>(Database&)>;
  struct Pending;
  using Ticket = std::shared_ptr<Pending>;

  // The loop must outlive the writer.
  static Result<std::unique_ptr<Writer>> start(Loop& loop, Database database, Durability durability);
  // Does all queued work, then ends. Work that the thread has not begun is done on the calling thread. Waiting tasks
  // are not woken.
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // soon: within kSoon, together with later work; now: at once, with all work before it.
  enum class When { now, soon };
  enum class Promise { open, acknowledged };  // acknowledged: the work was acknowledged already
  // Queues work; never waits. Open work is refused (exhausted) while kMaxWaiting pieces are queued, because
  // the disk is too slow. Promised work is never refused: its owner bounds it.
  Ticket queue(Work work, When when = When::now, Promise promise = Promise::open);
  // Whether the work of that ticket, and all work before it, is committed or has failed.
  static bool is_done(const Ticket& ticket);
  // Starts the work that is queued for soon now.
  void commit_now();
  // Called on the loop when a commit found no space on the disk. True: there may be space now, and the same commit is
  // tried once more before its work fails. The objects that `relieve` uses must outlive the writer, or the writer's use
  // of the loop.
  void on_full(std::function<Task<bool>()> relieve) { relieve_ = std::move(relieve); }
  // Waits until the work of that ticket, and all work before it, is committed. One waiter per ticket. A cancelled task
  // leaves the work queued.
  static Task<Result<>> committed(Ticket ticket);

  // The last commit failed, and no later one has succeeded.
  bool failing() const { return failing_; }
  // Commits so far, for tests and statistics.
  uint64_t commits() const { return commits_; }

 private:
  using Group = std::vector<Ticket>;
  struct Commit;
  Writer(Loop& loop, Database database, Durability durability)
      : loop_(loop), durability_(durability), database_(std::move(database)), tasks_(loop) {}
  Task<> write();
  Task<> catch_up();
  void give_back(Commit& commit);

  Loop& loop_;
  const Durability durability_;
  Database database_;  // used by the thread while there is one
  std::unique_ptr<WorkerThread> thread_;
  Group queued_;
  Group retries_;                   // promised work of a failed commit
  std::shared_ptr<Commit> commit_;  // the commit that the thread runs
  bool is_writing_ = false;         // write() runs
  bool is_behind_ = false;          // commits have not reached the disk
  bool failing_ = false;
  uint64_t commits_ = 0;
  std::function<Task<bool>()> relieve_;
  std::optional<Deadline> soon_;   // while work is queued for soon
  std::optional<Deadline> retry_;  // while work waits for another try
  std::optional<Deadline> sync_;   // while commits have not reached the disk
  Scope tasks_;                    // last: cancelled first
};

constexpr size_t kMaxWaiting = 20'000;
constexpr std::chrono::milliseconds kSoon{20};

}  // namespace journal
