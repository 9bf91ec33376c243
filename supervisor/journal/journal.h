// Journal: what the daemon remembers of executions and of what was asked of it, in state/journal/journal.db.
//
// The rule of durability. An execution's row is queued when it begins and is written beside the running program, within
// 20 ms; killed before that, it never was. Its end is written down before its answer is sent: whoever has an answer
// will find it in the journal after the next start, whenever the daemon is killed, and the audit's entries of that call
// with it. `durable` waits for the commit; `buffered` appends to the spool (spool.h) and commits within 20 ms, or waits
// too while the spool is full or the last commit failed. What runs when the daemon ends without a word is `interrupted`
// at the next start. What a commit survives, a dead daemon or also a power failure, is Settings::durability.
//
// What is kept. Every few seconds, and after every thousand records, a sweep on the writer's thread removes what is
// beyond the limits, in steps of at most 500 rows of each table, with pauses between. Limits are shared: whoever has
// most loses its oldest (audit.h). The sweep looks whether the files are still those that were opened, too
// (own_files.h). What one tenant asks while the disk stands still is bounded: entries of the audit beyond
// kMostWaitingEach are counted, and the count is written when the disk goes on. So nobody fills the queue that all
// share.
//
// Other owners of tables (skills, the vault of personal data) bring a Part and use run().
// Errors: whatever the file system says. A damaged or foreign file is set aside, and a new one is begun.
#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "supervisor/journal/audit.h"
#include "supervisor/journal/executions.h"
#include "supervisor/journal/own_files.h"
#include "supervisor/journal/record.h"
#include "supervisor/journal/spool.h"
#include "supervisor/journal/writer.h"

namespace journal {

struct Settings {
  Durability durability = Durability::buffered;
  uint64_t executions_kept = 100'000;        // rows; totals stay
  uint64_t audit_kept = 1'000'000;           // entries
  uint64_t audit_kept_bytes = 512ull << 20;  // of them, with what belongs to each in the file
  std::chrono::hours oldest{90 * 24};        // of both
  std::chrono::milliseconds sweep_every{5'000};
};
constexpr uint64_t kMostWaitingEach = 2'000;  // entries of a tenant's, of each kind

int64_t now_ms();  // since 1970

class Journal {
 public:
  // `folder` exists and is the daemon's own. The loop must outlive the journal. Waits for the disk: for start-up only.
  static Result<std::unique_ptr<Journal>> open(Loop& loop, const std::string& folder, Settings settings,
                                               std::vector<Part> others = {});
  // Writes all that is queued, and the counts of repeats.
  ~Journal();

  // An execution that runs. When it goes without end(), its request was cancelled: so says its row then.
  class [[nodiscard]] Execution {
   public:
    Execution(Execution&& other) noexcept;
    Execution& operator=(Execution&&) = delete;
    ~Execution();
    const std::string& id() const { return begun_.id; }

   private:
    friend class Journal;
    Execution(Journal& journal, Begun begun, Writer::Ticket written);
    Journal* journal_;  // nullptr: ended, or moved from
    Begun begun_;
    Writer::Ticket written_;
  };
  // Must not outlive the journal.
  Execution begin(Begun begun);
  // Done when the answer may be sent. Errors: it may not, for it would be forgotten.
  Task<Result<>> end(Execution execution, Ended ended);
  // Whether the last commit failed: then wait for a begin before the program runs. One that cannot be written down
  // never was, and is counted nowhere.
  bool failing() const { return writer_->failing(); }
  Task<Result<>> begun(Execution& execution);

  // Queued; written down with the next execution that ends, and within 20 ms.
  void audit(AuditEntry entry);

  // Since this daemon started; the totals of read_statistics() are of all time.
  const Totals& since_start(const std::string& tenant) { return since_start_[tenant]; }
  Task<Result<ExecutionStatistics>> statistics(std::string tenant);
  // One execution of the tenant's; nothing when it has none of that id, or no longer.
  Task<Result<std::optional<JournaledExecution>>> account(std::string tenant, std::string id);

  // Nobody of that name is left; one that comes later begins at nothing. Queued.
  void forget(const std::string& tenant);

  // Work of other owners; see Writer::Work. Done when it is committed.
  Task<Result<>> run(Writer::Work work);

  // About the start, for the log: a sentence about a file that was set aside (empty: none), executions that lost their
  // daemon, the end of the audit chain.
  const std::string& set_aside() const { return set_aside_; }
  uint64_t interrupted() const { return interrupted_; }
  const std::string& audit_head() const { return audit_head_; }
  uint64_t commits() const { return writer_->commits(); }

  // A sentence about a file that was removed or replaced since the start; empty: none was. `tell` is called with it
  // once.
  const std::string& trouble() const { return trouble_; }
  void on_trouble(std::function<void(const std::string&)> tell) { tell_ = std::move(tell); }

 private:
  Journal(Loop& loop, Settings settings, Spool spool)
      : loop_(loop), settings_(settings), spool_(std::move(spool)), tasks_(loop) {}
  Result<> catch_up(Database& database);
  Writer::Ticket queue_record(Record record, Writer::When when, Writer::Promise promise);
  bool acknowledge(const Record& record);
  void note_end(const Begun& begun, const Ended& ended);
  bool queue_entry(const AuditEntry& entry, Writer::Promise promise);
  void write_left_out();
  void sweep();
  void sweep_later();
  Task<> sweep_in_steps();

  Loop& loop_;
  Settings settings_;
  Spool spool_;
  int64_t next_record_ = 1;
  std::string unspooled_;             // lines of records that are queued and not acknowledged
  Writer::Ticket spooled_, waiting_;  // of the last record in the spool, and in unspooled_
  std::string set_aside_, audit_head_;
  uint64_t interrupted_ = 0;
  uint64_t records_ = 0;  // since the last sweep began
  bool sweeping_ = false;
  std::optional<Deadline> next_sweep_;
  std::shared_ptr<const OwnFiles> files_;  // with the writer's thread
  std::string trouble_;
  std::function<void(const std::string&)> tell_;
  struct Backlog {  // since the writer was last seen to have caught up
    uint64_t queued = 0;
    std::optional<AuditEntry> left_out;
  };
  std::map<std::pair<std::string, AuditKind>, Backlog> backlogs_;
  Writer::Ticket oldest_waiting_;  // of the first entry in `backlogs_`
  std::map<std::string, Totals> since_start_;
  std::unique_ptr<Writer> writer_;
  Scope tasks_;  // last: cancelled first
};

}  // namespace journal
