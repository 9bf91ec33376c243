// Journal: the daemon's record of executions and of requests (audit), in state/journal/journal.db.
// Source and users: supervisor/daemon/ and supervisor/tools/.
//
// Durability. The row of an execution is queued at its begin and written within 20 ms, while the program runs. If the
// daemon is killed before that, the execution leaves no row. The end is on record before the answer is sent: whenever
// the daemon is killed, an execution with an answer is in the journal after the next start, with the audit entries of
// that call. `durable` waits for the commit. `buffered` appends to the spool (spool.h) and commits within 20 ms; it
// waits for the commit too while the spool is full or the last commit failed. Executions that run while the daemon is
// killed are `interrupted` at the next start. Settings::durability says if a commit survives only a killed daemon or
// also a power failure.
//
// Limits. Every few seconds, and after every thousand records, a sweep on the writer's thread removes rows beyond the
// limits, in steps of at most 500 rows of each table, with pauses between the steps. Age is elapsed time
// (base/elapsed_clock.h): while the wall clock is far from it, no row is removed for its age. Tenants share the limits:
// the tenant with most rows loses its oldest (audit.h). The sweep also checks that the open files are still those on
// the disk (own_files.h). The queue of one tenant is bounded while the disk stands still: audit entries beyond
// kMaxWaitingEach are only counted, and the count is written when the disk works again. So no tenant fills the queue
// that all tenants share.
//
// Errors: those of the file system. A damaged or foreign file is renamed, and a new one is made; one with bytes
// that the disk cannot read is an error.
#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "supervisor/base/elapsed_clock.h"
#include "supervisor/protocol/tasks/task_store.h"
#include "supervisor/records/journal/audit.h"
#include "supervisor/records/journal/executions.h"
#include "supervisor/records/journal/history.h"
#include "supervisor/records/journal/own_files.h"
#include "supervisor/records/journal/read_connection.h"
#include "supervisor/records/journal/record.h"
#include "supervisor/records/journal/spool.h"
#include "supervisor/records/journal/writer.h"

namespace journal {

struct Settings {
  Durability durability = Durability::buffered;
  uint64_t executions_kept = 100'000;        // rows; the totals stay
  uint64_t audit_kept = 1'000'000;           // entries
  uint64_t audit_kept_bytes = 512ull << 20;  // of the entries, with their indexes in the file
  std::chrono::hours oldest{90 * 24};        // age of rows and entries
  std::chrono::milliseconds sweep_every{5'000};
  std::function<MachineClocks()> clocks = read_clocks;
};
constexpr uint64_t kMaxWaitingEach = 2'000;  // entries of a tenant's, of each kind

int64_t now_ms();  // since 1970

class Journal {
 public:
  // `folder` must exist and belong to the daemon. The loop must outlive the journal. Waits for the disk: only for the
  // start. Errors also: unavailable: another daemon uses the folder.
  static Result<std::unique_ptr<Journal>> open(Loop& loop, const std::string& folder, Settings settings);
  // Writes all queued work, and the counts of repeats.
  ~Journal();

  // A running execution. If it is destroyed without end(), its row says `cancelled`.
  class [[nodiscard]] Execution {
   public:
    Execution(Execution&& other) noexcept;
    Execution& operator=(Execution&&) = delete;
    ~Execution();
    const std::string& id() const { return started_.id; }

   private:
    friend class Journal;
    Execution(Journal& journal, StartedRow start, Writer::Ticket written);
    Journal* journal_;  // nullptr: ended, or moved from
    StartedRow started_;
    Writer::Ticket written_;
  };
  // The Execution must not outlive the journal.
  Execution begin(StartedRow start);
  // Returns when the answer may be sent. Errors: the end could not be recorded, so the answer must not be sent.
  Task<Result<>> end(Execution execution, Ended ended);
  // Queues what is stored of an ended execution beside its row. Call it after end(): the answer does not wait for it.
  void add_details(const std::string& id, ExecutionDetails details);
  // Whether the last commit failed. Then the caller waits for started() before the program runs. If started() fails,
  // the execution gets no row and is not counted.
  bool failing() const { return writer_->failing(); }
  // See Writer::on_full().
  void on_full(std::function<Task<bool>()> relieve) { writer_->on_full(std::move(relieve)); }
  Task<Result<>> started(Execution& execution);

  // Queues an audit entry. It is written with the next execution that ends, and within 20 ms.
  void audit(AuditEntry entry);
  // Writes an audit entry and returns when it is committed, for acts that may not happen without their entry. Errors:
  // those of the commit; unavailable: the disk takes no writes.
  Task<Result<>> audit_first(AuditEntry entry);

  // Totals since this daemon started. Those of read_statistics() are of all time.
  const Totals& since_start(const std::string& tenant) { return since_start_[tenant]; }
  Task<Result<ExecutionStatistics>> statistics(std::string tenant);
  // One execution of the tenant; empty: the tenant has no row of that id, or no longer.
  Task<Result<std::optional<JournaledExecution>>> account(std::string tenant, std::string id);
  // The receipt of that execution (execution_details.h): a JSON object. Errors: not_found.
  Task<Result<std::string>> receipt(std::string tenant, std::string id);

  // Whether the tenant has a row of that id, or of one of its branches.
  Task<Result<bool>> knows(std::string tenant, std::string id);

  // Pages of executions, and one execution with all that is stored of it (history.h). All work that was queued before
  // is seen. Read beside the loop, and beside the writer.
  Task<Result<HistoryPage>> history(HistoryFilter filter, uint32_t limit);
  Task<Result<std::optional<ExecutionStory>>> story(std::string account, std::string prefix);

  // Removes the executions and totals of a tenant or named workspace that was removed. A later one of that name begins
  // at zero. Queued.
  void forget(const std::string& tenant);
  // The number of the last execution of any tenant; what was queued before counts. 0: without executions.
  Task<Result<int64_t>> last_row();
  // Removes the executions and totals of a tenant that was removed, with those of all its workspaces, up to the number
  // `last_row`; in steps. Returns how many, when that is committed. May be called again after a failure.
  Task<Result<uint64_t>> forget_account(std::string account, int64_t last_row);
  // The tenants that have executions or totals, by name: the sum of all executions, the begin of the last stored one,
  // and the last known user.
  struct AccountSums {
    uint64_t executions = 0;
    std::optional<int64_t> last_ms;
    std::optional<uint32_t> uid;
    std::string principal;  // "token:ci", "uid:1000"; empty: not known
  };
  Task<Result<std::map<std::string, AccountSums>>> accounts();

  // Runs other work on the file (see Writer::Work): run() returns when it is committed; queue() does not wait; read()
  // commits all queued work and runs its own on the thread of reads.
  Task<Result<>> run(Writer::Work work);
  void queue(Writer::Work work, Writer::When when = Writer::When::now) { writer_->queue(std::move(work), when); }
  Task<Result<>> read(Writer::Work work);
  // The rows of tasks at the start (task_rows.h), once.
  std::vector<tasks::StoredTask> take_tasks() { return std::exchange(stored_tasks_, {}); }
  // The same of executions with ids that their clients chose.
  std::vector<tasks::StoredTask> take_named() { return std::exchange(stored_named_, {}); }
  // The executions of workflows that ran when the last daemon ended (workflow_rows.h), once.
  std::vector<std::string> take_runs() { return std::exchange(stored_runs_, {}); }
  // 16 random bytes, made with the file: the seeds of text hashes in workflows are derived from it.
  const std::string& hash_secret() const { return hash_secret_; }

  // About the start, for the log: a sentence about a renamed file (empty: no file was renamed), the number of
  // executions that were interrupted, the end of the audit chain.
  const std::string& set_aside() const { return set_aside_; }
  uint64_t interrupted() const { return interrupted_; }
  const AuditHead& audit_head() const { return audit_head_; }
  uint64_t commits() const { return writer_->commits(); }
  // The number of entries and the hash at the end of the audit chain now, with all queued entries.
  Task<Result<AuditHead>> head();

  // By how much the wall clock is far from the elapsed time; 0: it is near. `notify` is called when that begins or
  // ends.
  int64_t clock_jump_ms() const { return clock_->jump_ms(); }
  void on_clock(std::function<void(int64_t jump_ms)> notify) { report_clock_ = std::move(notify); }

  // A sentence about a file that was removed or replaced since the start; empty: all files are in place. `notify` is
  // called with it once.
  const std::string& trouble() const { return trouble_; }
  void on_trouble(std::function<void(const std::string&)> notify) { report_ = std::move(notify); }

 private:
  Journal(Loop& loop, const std::string& folder, Settings settings, Spool spool)
      : loop_(loop),
        settings_(settings),
        spool_(std::move(spool)),
        reader_(loop, folder + "/journal.db"),
        tasks_(loop) {}
  Result<> start_clock(Database& database);
  Result<> catch_up(Database& database);
  Writer::Ticket queue_record(Record record, Writer::When when, Writer::Promise promise);
  bool acknowledge(const Record& record);
  void note_end(const StartedRow& start, const Ended& ended);
  bool queue_entry(const AuditEntry& entry, Writer::Promise promise);
  void write_left_out();
  void sweep();
  void look_at_clock();
  std::optional<ClockRecord> clock_to_store();
  void sweep_later();
  Task<> sweep_in_steps();

  Loop& loop_;
  Settings settings_;
  std::unique_ptr<ElapsedClock> clock_;
  ClockRecord stored_clock_;
  std::function<void(int64_t jump_ms)> report_clock_;
  Spool spool_;
  int64_t next_record_ = 1;
  std::string unspooled_;             // lines of queued records that are not acknowledged
  Writer::Ticket spooled_, waiting_;  // of the last records in the spool and in unspooled_
  std::string set_aside_;
  AuditHead audit_head_;
  uint64_t interrupted_ = 0;
  std::vector<tasks::StoredTask> stored_tasks_, stored_named_;
  std::vector<std::string> stored_runs_;
  std::string hash_secret_;
  uint64_t records_ = 0;  // records since the last sweep began
  bool sweeping_ = false;
  std::optional<Deadline> next_sweep_;
  std::shared_ptr<const OwnFiles> files_;  // shared with the writer's thread
  std::string trouble_;
  std::function<void(const std::string&)> report_;
  struct Backlog {  // since the writer last had an empty queue
    uint64_t queued = 0;
    std::optional<AuditEntry> left_out;
  };
  std::map<std::pair<std::string, AuditKind>, Backlog> backlogs_;
  Writer::Ticket oldest_waiting_;  // ticket of the first entry in `backlogs_`
  std::map<std::string, Totals> since_start_;
  std::unique_ptr<Writer> writer_;
  ReadConnection reader_;
  Scope tasks_;  // last: cancelled first
};

}  // namespace journal
