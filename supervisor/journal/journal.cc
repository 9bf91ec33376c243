#include "supervisor/journal/journal.h"

#include <sodium.h>

namespace journal {
namespace {

constexpr uint64_t kSweepEvery = 500;  // ended executions
constexpr uint64_t kSweepRows = 2'000;
constexpr char kGiveBack[] = "PRAGMA incremental_vacuum(256)";  // pages, to the file system

int64_t since_1970(std::chrono::system_clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

// The hash at the end of the chain, as text; not verified, which would read all of it.
Result<std::string> read_head(Database& database) {
  TRY(Statement found, database.prepare("SELECT number || ' entries, ' || lower(hex(hash)) FROM audit_ends WHERE "
                                        "which='last'"));
  TRY(bool row, found.step());
  return row ? found.text(0) : std::string();
}

}  // namespace

int64_t now_ms() { return since_1970(std::chrono::system_clock::now()); }

Result<std::unique_ptr<Journal>> Journal::open(Loop& loop, const std::string& folder, Settings settings,
                                               std::vector<Part> others) {
  if (sodium_init() < 0) return fail(Code::unavailable, "libsodium cannot be used on this machine");
  std::vector<Part> parts = {executions_part(), audit_part(), records_part()};
  for (Part& part : others) parts.push_back(std::move(part));
  TRY(Opened opened, open_checked(folder + "/journal.db", parts));
  TRY(Spool spool, Spool::open(folder + "/spool"));
  std::unique_ptr<Journal> journal(new Journal(settings, std::move(spool)));
  journal->set_aside_ = std::move(opened.set_aside);
  {
    TRY(Transaction transaction, Transaction::begin(opened.database));
    CHECKED(journal->catch_up(opened.database));
    TRY(journal->interrupted_, interrupt_running(opened.database));
    CHECKED(transaction.commit());
  }
  journal->spool_.clear();
  TRY(journal->audit_head_, read_head(opened.database));
  TRY(journal->writer_, Writer::start(loop, std::move(opened.database), settings.durability));
  journal->sweep();
  return journal;
}

// What an earlier life acknowledged and did not commit. A record that does not fit what is there is none of its.
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

Journal::Execution::Execution(Journal& journal, Begun begun, Writer::Ticket written)
    : journal_(&journal), begun_(std::move(begun)), written_(std::move(written)) {}

Journal::Execution::Execution(Execution&& other) noexcept
    : journal_(std::exchange(other.journal_, nullptr)),
      begun_(std::move(other.begun_)),
      written_(std::move(other.written_)) {}

Journal::Execution::~Execution() {
  if (journal_ == nullptr) return;
  Ended ended;
  ended.id = begun_.id;
  ended.outcome = "cancelled";
  ended.wall_us = (now_ms() - begun_.at_ms) * 1000;
  journal_->note_end(begun_, ended);
  auto write = [begun = std::move(begun_), ended = std::move(ended)](Database& database) -> Result<> {
    CHECKED(write_begun(database, begun));
    return write_ended(database, ended);
  };
  journal_->writer_->queue(std::move(write));
}

Journal::Execution Journal::begin(Begun begun) {
  auto written =
      writer_->queue([begun](Database& database) { return write_begun(database, begun); }, Writer::When::soon);
  return Execution(*this, std::move(begun), std::move(written));
}

Task<Result<>> Journal::begun(const Execution& execution) {
  writer_->hurry();
  auto written = co_await Writer::committed(execution.written_);
  co_return written;
}

void Journal::note_end(const Begun& begun, const Ended& ended) {
  since_start_[begun.tenant].add(begun.language, ended);
  if (until_sweep_-- == 0) sweep();
}

Writer::Ticket Journal::queue_record(Record record, Writer::When when, Writer::Promise promise) {
  auto work = [record = std::move(record)](Database& database) { return apply(database, record); };
  return writer_->queue(std::move(work), when, promise);
}

// Whether the record, and those queued before it, are in the spool.
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
  ended.id = execution.begun_.id;
  execution.journal_ = nullptr;
  note_end(execution.begun_, ended);
  Record record{next_record_++, Finished{std::move(execution.begun_), std::move(ended)}};
  if (acknowledge(record)) {
    spooled_ = queue_record(std::move(record), Writer::When::soon, Writer::Promise::made);
    co_return Result<>();
  }
  Writer::Ticket last = queue_record(std::move(record), Writer::When::now, Writer::Promise::open);
  auto written = co_await Writer::committed(std::move(last));
  co_return written;
}

void Journal::audit(AuditEntry entry) {
  Record record{next_record_++, std::move(entry)};
  if (settings_.durability == Durability::buffered) {
    if (waiting_ && Writer::is_done(waiting_)) unspooled_.clear();
    if (unspooled_.size() < kSpoolBytes) unspooled_ += to_line(record);  // else the disk has not kept up for long
  }
  waiting_ = queue_record(std::move(record), Writer::When::soon, Writer::Promise::open);
}

Task<Result<Statistics>> Journal::statistics(std::string tenant) {
  auto found = std::make_shared<Statistics>();
  auto read = [found, tenant = std::move(tenant)](Database& database) -> Result<> {
    TRY(*found, read_statistics(database, tenant));
    return {};
  };
  auto done = co_await Writer::committed(writer_->queue(std::move(read)));
  if (!done) co_return tl::unexpected<Error>(std::move(done).error());
  co_return std::move(*found);
}

Task<Result<std::optional<Account>>> Journal::account(std::string tenant, std::string id) {
  auto found = std::make_shared<std::optional<Account>>();
  auto read = [found, tenant = std::move(tenant), id = std::move(id)](Database& database) -> Result<> {
    TRY(*found, read_account(database, tenant, id));
    return {};
  };
  auto done = co_await Writer::committed(writer_->queue(std::move(read)));
  if (!done) co_return tl::unexpected<Error>(std::move(done).error());
  co_return std::move(*found);
}

void Journal::forget(const std::string& tenant) {
  since_start_.erase(tenant);
  writer_->queue([tenant](Database& database) { return forget_tenant(database, tenant); });
}

Task<Result<>> Journal::run(Writer::Work work) {
  auto done = co_await Writer::committed(writer_->queue(std::move(work)));
  co_return done;
}

// In slices, beside the rows that come in: the file shrinks as fast as it grew.
void Journal::sweep() {
  until_sweep_ = kSweepEvery;
  writer_->queue([settings = settings_](Database& database) -> Result<> {
    const int64_t oldest = since_1970(std::chrono::system_clock::now() - settings.oldest);
    TRY(uint64_t executions, forget_executions(database, settings.executions_kept, oldest, kSweepRows));
    // Many more entries than executions come in: each call of each tool has one.
    TRY(uint64_t entries, forget_audit(database, settings.audit_kept, oldest, 16 * kSweepRows));
    return executions + entries > 0 ? database.execute(kGiveBack) : Result<>();
  });
}

}  // namespace journal
