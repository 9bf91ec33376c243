#include "supervisor/records/journal/journal.h"

#include <sodium.h>

#include <algorithm>
#include <vector>

#include "policies/tenant_id.h"
#include "supervisor/base/system_time.h"
#include "supervisor/records/journal/clock_row.h"
#include "supervisor/records/journal/task_rows.h"
#include "supervisor/records/journal/workflow_rows.h"

namespace journal {
namespace {

constexpr uint64_t kSweepEvery = 1'000;  // records
constexpr uint64_t kSweepRows = 500;     // of each table, in one step
constexpr std::chrono::milliseconds kSweepPause{20};
constexpr int64_t kStoreClockMs = 600'000;
constexpr uint64_t kSealedAtEnd = 20'000;                       // repeats; more are sealed after the next start
constexpr char kGiveBack[] = "PRAGMA incremental_vacuum(256)";  // pages, to the file system

Result<> read_accounts(Database& database, std::map<std::string, Journal::AccountSums>& match) {
  {
    TRY(Statement rows, database.prepare("SELECT tenant, executions FROM totals"));
    for (;;) {
      TRY(bool row, rows.step());
      if (!row) break;
      const std::string tenant = rows.text(0);
      match[std::string(tenants::account_of(tenant))].executions +=
          static_cast<uint64_t>(std::max<int64_t>(rows.integer(1), 0));
    }
  }
  for (auto& [account, sums] : match) {
    TRY(Statement newest,
        database.prepare("SELECT started_ms, uid, principal FROM executions WHERE account=? ORDER BY started_ms "
                         "DESC LIMIT 1"));
    TRY(bool row, newest.bind(account).step());
    if (!row) continue;
    sums.last_ms = newest.integer(0);
    if (!newest.is_null(1)) sums.uid = static_cast<uint32_t>(newest.integer(1));
    sums.principal = newest.text(2);
    if (sums.principal.empty() && sums.uid) sums.principal = "uid:" + std::to_string(*sums.uid);
  }
  return {};
}

}  // namespace

int64_t now_ms() { return system_now_ms(); }

Result<std::unique_ptr<Journal>> Journal::open(Loop& loop, const std::string& folder, Settings settings) {
  if (sodium_init() < 0) return fail(Code::unavailable, "libsodium cannot be used on this machine");
  const std::vector<SchemaPart> parts = {executions_part(), audit_part(),     records_part(),
                                         tasks_part(),      workflows_part(), clock_part()};
  TRY(Opened opened, open_checked(folder + "/journal.db", parts));
  TRY(Spool spool, Spool::open(folder + "/spool"));
  std::unique_ptr<Journal> journal(new Journal(loop, folder, settings, std::move(spool)));
  journal->set_aside_ = std::move(opened.set_aside);
  {
    TRY(Transaction transaction, Transaction::begin(opened.database));
    CHECKED(journal->start_clock(opened.database));
    CHECKED(journal->catch_up(opened.database));
    TRY(journal->interrupted_, interrupt_running(opened.database));
    TRY(journal->stored_tasks_, read_tasks(opened.database, TaskTable::tasks));
    TRY(journal->stored_named_, read_tasks(opened.database, TaskTable::named_executions));
    TRY(journal->stored_runs_, read_run_executions(opened.database));
    TRY(journal->hash_secret_, read_hash_secret(opened.database));
    CHECKED(transaction.commit());
  }
  journal->spool_.clear();
  TRY(journal->audit_head_, read_head(opened.database));
  TRY(OwnFiles files, OwnFiles::note(folder, {"journal.db", "journal.db-wal", "journal.db-shm", "spool"}));
  journal->files_ = std::make_shared<const OwnFiles>(std::move(files));
  TRY(journal->writer_, Writer::start(loop, std::move(opened.database), settings.durability));
  journal->sweep();
  return journal;
}

Journal::~Journal() {
  if (!writer_) return;  // open() failed
  write_left_out();
  clock_->update(settings_.clocks());
  auto seal = [record = clock_->record()](Database& database) -> Result<> {
    TRY(uint64_t sealed, seal_repeats(database, INT64_MAX, kSealedAtEnd));
    static_cast<void>(sealed);
    return write_clock(database, record);
  };
  writer_->queue(std::move(seal), Writer::When::now, Writer::Promise::acknowledged);
}

Result<> Journal::start_clock(Database& database) {
  TRY(std::optional<ClockRecord> stored, read_clock(database));
  TRY(const std::optional<int64_t> newest, newest_record_ms(database));
  clock_ = std::make_unique<ElapsedClock>(std::move(stored), newest, settings_.clocks());
  stored_clock_ = clock_->record();
  return write_clock(database, stored_clock_);
}

// Applies records that an earlier process acknowledged and did not commit. Records that do not fit the rows are
// skipped.
Result<> Journal::catch_up(Database& database) {
  auto use = [&database](std::string_view line) -> Result<> {
    const auto record = from_line(line);
    if (!record) return {};
    auto applied = apply(database, *record);
    return !applied && applied.error().code != Code::not_found ? applied : Result<>();
  };
  CHECKED(spool_.each_line(use));
  TRY(int64_t last, last_applied(database));
  next_record_ = last + 1;
  return {};
}

Journal::Execution::Execution(Journal& journal, StartedRow start, Writer::Ticket written)
    : journal_(&journal), started_(std::move(start)), written_(std::move(written)) {}

Journal::Execution::Execution(Execution&& other) noexcept
    : journal_(std::exchange(other.journal_, nullptr)),
      started_(std::move(other.started_)),
      written_(std::move(other.written_)) {}

Journal::Execution::~Execution() {
  if (journal_ == nullptr) return;
  Ended ended;
  ended.id = started_.id;
  ended.outcome = "cancelled";
  ended.wall_us = (now_ms() - started_.at_ms) * 1000;
  journal_->note_end(started_, ended);
  auto write = [started = std::move(started_), ended = std::move(ended)](Database& database) -> Result<> {
    CHECKED(write_started(database, started));
    return write_ended(database, ended);
  };
  journal_->writer_->queue(std::move(write));
}

Journal::Execution Journal::begin(StartedRow start) {
  auto written =
      writer_->queue([start](Database& database) { return write_started(database, start); }, Writer::When::soon);
  return Execution(*this, std::move(start), std::move(written));
}

Task<Result<>> Journal::started(Execution& execution) {
  writer_->commit_now();
  auto written = co_await Writer::committed(execution.written_);
  if (!written) execution.journal_ = nullptr;
  co_return written;
}

void Journal::note_end(const StartedRow& start, const Ended& ended) {
  since_start_[start.tenant].add(start.language, ended);
  if (++records_ >= kSweepEvery) sweep();
}

Writer::Ticket Journal::queue_record(Record record, Writer::When when, Writer::Promise promise) {
  auto work = [record = std::move(record)](Database& database) { return apply(database, record); };
  return writer_->queue(std::move(work), when, promise);
}

// Appends the record, and those queued before it, to the spool. False: the commit must be awaited.
bool Journal::acknowledge(const Record& record) {
  if (settings_.durability == Durability::durable || writer_->failing()) return false;
  if (spooled_ && Writer::is_done(spooled_)) spool_.clear_if_long();
  if (waiting_ && Writer::is_done(waiting_)) unspooled_.clear();
  const size_t before = unspooled_.size();
  unspooled_ += to_line(record);
  if (spool_.has_room(unspooled_.size()) && spool_.append(unspooled_)) {
    unspooled_.clear();
    return true;
  }
  unspooled_.resize(before);
  return false;
}

Task<Result<>> Journal::end(Execution execution, Ended ended) {
  ended.id = execution.started_.id;
  execution.journal_ = nullptr;
  note_end(execution.started_, ended);
  Record record{next_record_++, Finished{std::move(execution.started_), std::move(ended)}};
  if (acknowledge(record)) {
    spooled_ = queue_record(std::move(record), Writer::When::soon, Writer::Promise::acknowledged);
    co_return Result<>();
  }
  Writer::Ticket last = queue_record(std::move(record), Writer::When::now, Writer::Promise::open);
  auto written = co_await Writer::committed(std::move(last));
  co_return written;
}

void Journal::audit(AuditEntry entry) {
  bound_sizes(entry);
  if (++records_ >= kSweepEvery) sweep();
  if (oldest_waiting_ && Writer::is_done(oldest_waiting_)) write_left_out();
  Backlog& own = backlogs_[{account_of(entry), entry.kind}];
  if (own.queued < kMaxWaitingEach && queue_entry(entry, Writer::Promise::open)) {
    own.queued++;
    if (!oldest_waiting_) oldest_waiting_ = waiting_;
    return;
  }
  const int64_t last_ms = std::max(entry.at_ms, entry.last_ms);
  if (own.left_out) {
    own.left_out->count += entry.count;
    own.left_out->last_ms = std::max(own.left_out->last_ms, last_ms);
    return;
  }
  entry.tenant = account_of(entry);
  entry.pid = 0;
  entry.action = "left out", entry.subject = "*", entry.shape = R"({"why":"the journal was behind"})";
  entry.same.clear();
  entry.last_ms = last_ms;
  own.left_out = std::move(entry);
}

Task<Result<>> Journal::audit_first(AuditEntry entry) {
  if (writer_->failing()) co_return fail(Code::unavailable, "the journal takes no writes now", "see: warder doctor");
  bound_sizes(entry);
  Record record{next_record_++, std::move(entry)};
  Writer::Ticket last = queue_record(std::move(record), Writer::When::now, Writer::Promise::open);
  auto written = co_await Writer::committed(std::move(last));
  co_return written;
}

// False: the writer is too far behind and refused the entry.
bool Journal::queue_entry(const AuditEntry& entry, Writer::Promise promise) {
  const Record record{next_record_, entry};
  Writer::Ticket ticket = queue_record(record, Writer::When::soon, promise);
  if (Writer::is_done(ticket)) return false;
  next_record_++;
  if (settings_.durability == Durability::buffered) {
    if (waiting_ && Writer::is_done(waiting_)) unspooled_.clear();
    if (unspooled_.size() < kSpoolBytes) unspooled_ += to_line(record);  // else the disk is too slow for long
  }
  waiting_ = std::move(ticket);
  return true;
}

// Called when the writer has caught up: writes one entry for each tenant and kind, with the count of entries that were
// left out.
void Journal::write_left_out() {
  oldest_waiting_.reset();
  for (const auto& [share, backlog] : std::exchange(backlogs_, {}))
    if (backlog.left_out) queue_entry(*backlog.left_out, Writer::Promise::acknowledged);
}

Task<Result<ExecutionStatistics>> Journal::statistics(std::string tenant) {
  auto execution_statistics = std::make_shared<ExecutionStatistics>();
  auto read = [execution_statistics, tenant = std::move(tenant)](Database& database) -> Result<> {
    TRY(*execution_statistics, read_statistics(database, tenant));
    return {};
  };
  auto done = co_await Writer::committed(writer_->queue(std::move(read)));
  if (!done) co_return tl::unexpected<Error>(std::move(done).error());
  co_return std::move(*execution_statistics);
}

Task<Result<bool>> Journal::knows(std::string tenant, std::string id) {
  auto count = std::make_shared<bool>(false);
  auto read = [count, tenant = std::move(tenant), id = std::move(id)](Database& database) -> Result<> {
    TRY(*count, has_execution(database, tenant, id));
    return {};
  };
  auto done = co_await Writer::committed(writer_->queue(std::move(read)));
  if (!done) co_return tl::unexpected<Error>(std::move(done).error());
  co_return *count;
}

Task<Result<std::optional<JournaledExecution>>> Journal::account(std::string tenant, std::string id) {
  auto match = std::make_shared<std::optional<JournaledExecution>>();
  auto read = [match, tenant = std::move(tenant), id = std::move(id)](Database& database) -> Result<> {
    TRY(*match, read_account(database, tenant, id));
    return {};
  };
  auto done = co_await Writer::committed(writer_->queue(std::move(read)));
  if (!done) co_return tl::unexpected<Error>(std::move(done).error());
  co_return std::move(*match);
}

Task<Result<std::string>> Journal::receipt(std::string tenant, std::string id) {
  auto match = std::make_shared<std::optional<std::string>>();
  auto read = [match, tenant = std::move(tenant), id](Database& database) -> Result<> {
    TRY(*match, read_receipt(database, tenant, id));
    return {};
  };
  auto done = co_await Writer::committed(writer_->queue(std::move(read)));
  if (!done) co_return tl::unexpected<Error>(std::move(done).error());
  if (!*match)
    co_return fail(Code::not_found, "no execution '" + id + "' is known",
                   "use an execution_id from an answer of execute_code; the oldest are removed");
  if ((*match)->empty())
    co_return fail(Code::not_found, "execution '" + id + "' has no receipt",
                   "it is there when the execution has ended; one that got no jail has none");
  co_return std::move(**match);
}

void Journal::add_details(const std::string& id, ExecutionDetails details) {
  auto write = [id, details = std::move(details)](Database& database) { return write_details(database, id, details); };
  writer_->queue(std::move(write), Writer::When::soon);
}

// Commits all queued work first. If that fails, the file is read as it is.
Task<Result<>> Journal::read(Writer::Work work) {
  const Writer::Work empty = [](Database&) { return Result<>(); };
  static_cast<void>(co_await run(empty));
  auto done = co_await reader_.run(std::move(work));
  co_return done;
}

Task<Result<HistoryPage>> Journal::history(HistoryFilter filter, uint32_t limit) {
  auto page = std::make_shared<HistoryPage>();
  const Writer::Work work = [page, filter = std::move(filter), limit](Database& database) -> Result<> {
    TRY(*page, read_history(database, filter, limit));
    return {};
  };
  auto done = co_await read(work);
  if (!done) co_return tl::unexpected<Error>(std::move(done).error());
  co_return std::move(*page);
}

Task<Result<std::optional<ExecutionStory>>> Journal::story(std::string account, std::string prefix) {
  auto match = std::make_shared<std::optional<ExecutionStory>>();
  const Writer::Work work = [match, account, prefix](Database& database) -> Result<> {
    TRY(*match, read_story(database, account, prefix));
    return {};
  };
  auto done = co_await read(work);
  if (!done) co_return tl::unexpected<Error>(std::move(done).error());
  co_return std::move(*match);
}

Task<Result<AuditHead>> Journal::head() {
  auto audit_head = std::make_shared<AuditHead>();
  const Writer::Work work = [audit_head](Database& database) -> Result<> {
    TRY(*audit_head, read_head(database));
    return {};
  };
  auto done = co_await read(work);
  if (!done) co_return tl::unexpected<Error>(std::move(done).error());
  co_return std::move(*audit_head);
}

void Journal::forget(const std::string& tenant) {
  since_start_.erase(tenant);
  writer_->queue([tenant](Database& database) { return forget_tenant(database, tenant); });
}

Task<Result<int64_t>> Journal::last_row() {
  auto count = std::make_shared<int64_t>(0);
  const Writer::Work work = [count](Database& database) -> Result<> {
    TRY(*count, journal::last_row(database));
    return {};
  };
  auto done = co_await run(work);
  if (!done) co_return tl::unexpected<Error>(std::move(done).error());
  co_return *count;
}

Task<Result<uint64_t>> Journal::forget_account(std::string account, int64_t last_row) {
  std::erase_if(since_start_, [&account](const auto& item) { return tenants::account_of(item.first) == account; });
  uint64_t all = 0;
  for (;;) {
    auto removed = std::make_shared<uint64_t>(0);
    const Writer::Work work = [removed, account, last_row](Database& database) -> Result<> {
      TRY(*removed, journal::forget_account(database, account, last_row, kSweepRows));
      return *removed > 0 ? database.execute(kGiveBack) : Result<>();
    };
    auto done = co_await run(work);
    if (!done) co_return tl::unexpected<Error>(std::move(done).error());
    all += *removed;
    if (*removed < kSweepRows) co_return all;
    co_await sleep_for(loop_, kSweepPause);
  }
}

Task<Result<std::map<std::string, Journal::AccountSums>>> Journal::accounts() {
  auto match = std::make_shared<std::map<std::string, AccountSums>>();
  const Writer::Work work = [match](Database& database) { return read_accounts(database, *match); };
  auto done = co_await read(work);
  if (!done) co_return tl::unexpected<Error>(std::move(done).error());
  co_return std::move(*match);
}

Task<Result<>> Journal::run(Writer::Work work) {
  auto done = co_await Writer::committed(writer_->queue(std::move(work)));
  co_return done;
}

void Journal::sweep_later() {
  next_sweep_.emplace(loop_, settings_.sweep_every, [this] { sweep(); });
}

void Journal::look_at_clock() {
  const bool was_far = clock_->jump_ms() != 0;
  clock_->update(settings_.clocks());
  const bool is_far = clock_->jump_ms() != 0;
  if (is_far != was_far && report_clock_) report_clock_(clock_->jump_ms());
}

// An idle daemon writes the record seldom; a record that is older only makes data live longer.
std::optional<ClockRecord> Journal::clock_to_store() {
  const ClockRecord& now = clock_->record();
  const bool has_changed = now.jump_ms != stored_clock_.jump_ms ||
                           now.retention_ms - stored_clock_.retention_ms >= kStoreClockMs ||
                           std::abs(now.uncounted_ms - stored_clock_.uncounted_ms) >= kStoreClockMs;
  if (!has_changed) return {};
  stored_clock_ = now;
  return now;
}

void Journal::sweep() {
  records_ = 0;
  look_at_clock();
  if (oldest_waiting_ && Writer::is_done(oldest_waiting_)) write_left_out();
  if (sweeping_) return;
  sweeping_ = true;
  next_sweep_.reset();
  tasks_.spawn(sweep_in_steps());
}

// Each step is a part of one transaction: new rows wait for one step at most.
Task<> Journal::sweep_in_steps() {
  struct Step {
    bool more = false;
    std::string trouble;
  };
  for (;;) {
    auto step = std::make_shared<Step>();
    const int64_t kept_ms = std::chrono::milliseconds(settings_.oldest).count();
    const int64_t oldest = clock_->jump_ms() != 0 ? INT64_MIN : clock_->record().retention_ms - kept_ms;
    auto work = [step, settings = settings_, files = files_, oldest,
                 record = clock_to_store()](Database& database) -> Result<> {
      step->trouble = files->trouble();
      if (record) CHECKED(write_clock(database, *record));
      TRY(const uint64_t sealed, seal_repeats(database, system_now_ms(), kSweepRows));
      TRY(const uint64_t executions, forget_executions(database, settings.executions_kept, oldest, kSweepRows));
      const AuditLimits limits{settings.audit_kept, settings.audit_kept_bytes, oldest};
      TRY(const uint64_t entries, forget_audit(database, limits, kSweepRows));
      step->more = std::max({sealed, executions, entries}) >= kSweepRows;
      return executions + entries > 0 ? database.execute(kGiveBack) : Result<>();
    };
    auto done = co_await Writer::committed(writer_->queue(std::move(work)));
    if (!step->trouble.empty() && trouble_.empty()) {
      trouble_ = step->trouble;
      if (report_) report_(trouble_);
    }
    if (!done || !step->more) break;
    co_await sleep_for(loop_, kSweepPause);
  }
  sweeping_ = false;
  sweep_later();
}

}  // namespace journal
