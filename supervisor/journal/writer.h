// Writer: the one that touches the journal's file, on a thread of its own (WorkerThread), so that a slow disk never
// holds the loop. Work is done in the order in which it was queued; everything that waits becomes one transaction
// (group commit).
//
// What "committed" promises:
//   durable   the commit has reached the disk (synchronous=FULL): it survives a power failure.
//   buffered  the commit is written to the file (synchronous=NORMAL): it survives the end of this process at any
//   moment,
//             kill -9 included, but not a power failure. A commit that reaches the disk follows within a second.
// Neither ever leaves half a transaction.
//
// Errors: what the work or the commit said. Work that fails is taken back alone; the rest of its group is committed.
// Work whose effect was acknowledged already is tried again, in its place, until a commit that fails works.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "supervisor/base/loop.h"
#include "supervisor/base/worker_thread.h"
#include "supervisor/journal/database.h"

namespace journal {

enum class Durability { durable, buffered };

class Writer {
 public:
  // Runs on the writer's thread, once. Owns all that it uses: whoever queued it may be gone by then. Touches nothing
  // else; what it finds out it leaves in what it shares with its owner, who reads it after committed().
  using Work = std::function<Result<>(Database&)>;
  struct Pending;
  using Ticket = std::shared_ptr<Pending>;

  // The loop must outlive the writer.
  static Result<std::unique_ptr<Writer>> start(Loop& loop, Database database, Durability durability);
  // Does what is queued, then ends: what the thread has not begun on the calling one. Nobody is told any more.
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // soon: within kSoon, with what else comes until then; now: at once, and so all before it.
  enum class When { now, soon };
  enum class Promise { open, made };  // made: acknowledged already
  // Never waits. More than kMostWaiting pieces of work are refused: the disk does not keep up. What is promised is not:
  // whoever promises has a bound.
  Ticket queue(Work work, When when = When::now, Promise promise = Promise::open);
  // Whether the work of that ticket, and so all before it, is committed or has failed.
  static bool is_done(const Ticket& ticket);
  // What is queued for soon is done now.
  void hurry();
  // Until the work of that ticket, and so all before it, is committed. One waiter per ticket. A task that goes before
  // that leaves the work as it is.
  static Task<Result<>> committed(Ticket ticket);

  // The last commit failed, and none has worked since.
  bool failing() const { return failing_; }
  // For tests and statistics: commits so far.
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
  Database database_;  // the thread's, while there is one
  std::unique_ptr<WorkerThread> thread_;
  Group queued_;
  Group again_;                     // promised, and not committed
  std::shared_ptr<Commit> commit_;  // that the thread was given
  bool is_writing_ = false;         // write() runs
  bool is_behind_ = false;          // commits have not reached the disk
  bool failing_ = false;
  uint64_t commits_ = 0;
  std::optional<Deadline> soon_;   // while something is queued for soon
  std::optional<Deadline> retry_;  // ... or waits to be tried again
  std::optional<Deadline> sync_;   // while commits have not reached the disk
  Scope tasks_;                    // last: cancelled first
};

constexpr size_t kMostWaiting = 20'000;
constexpr std::chrono::milliseconds kSoon{20};

}  // namespace journal
