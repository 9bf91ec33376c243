#include "supervisor/records/journal/database.h"

#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "supervisor/base/disk_faults.h"

namespace journal {
namespace {

constexpr int kBusyMilliseconds = 5'000;  // a backup or a reader's checkpoint may hold the lock for a moment

}  // namespace

void Database::Close::operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }
void Database::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

Database::Database(Database&&) noexcept = default;
Database& Database::operator=(Database&& other) noexcept {
  statements_ = std::move(other.statements_);  // statements are finalized before their connection is closed
  handle_ = std::move(other.handle_);
  is_over_ = std::move(other.is_over_);
  path_ = std::move(other.path_);
  return *this;
}
Database::~Database() { statements_.clear(); }

void Database::note_fault(int code) const {
  if ((code & 0xff) == SQLITE_FULL) disk_faults::note(ENOSPC);
  if ((code & 0xff) == SQLITE_READONLY) disk_faults::note(EROFS);
  if ((code & 0xff) != SQLITE_IOERR && (code & 0xff) != SQLITE_CANTOPEN) return;
  const int error = handle_ ? sqlite3_system_errno(handle_.get()) : 0;
  disk_faults::note(error == 0 ? EIO : error);
}

tl::unexpected<Error> Database::failure(int code, std::string_view doing) const {
  note_fault(code);
  const char* message = handle_ ? sqlite3_errmsg(handle_.get()) : sqlite3_errstr(code);
  std::string problem = fmt::format("{}: {}: {}", path_, doing, message);
  switch (code & 0xff) {
    case SQLITE_FULL:
      return fail(Code::exhausted, std::move(problem), "free space on the file system of the state folder");
    case SQLITE_INTERRUPT:
      return fail(Code::exhausted, std::move(problem), "the answer would take too long: ask for less");
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return fail(Code::unavailable, std::move(problem), "check the state folder's disk and permissions");
    default:
      return fail(Code::internal, std::move(problem));
  }
}

Result<Database> Database::open(const std::string& path, Access access) {
  Database database;
  database.path_ = path;
  const bool writes = access == Access::read_write;
  const int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW |
                    (writes ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY);
  sqlite3* handle = nullptr;
  const mode_t before = ::umask(0077);
  const int opened = sqlite3_open_v2(path.c_str(), &handle, flags, nullptr);
  ::umask(before);
  database.handle_.reset(handle);
  if (opened != SQLITE_OK) return database.failure(opened, "open");
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_busy_timeout(handle, kBusyMilliseconds);
  // Stored values came from agents in part. Neither a manipulated schema nor a value may run code.
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 0);
  // auto_vacuum works in a new file only; the journal mode is stored in the file.
  // temp_store: what a savepoint would restore stays in memory; a transaction writes some dozens of pages.
  if (writes)
    CHECKED(
        database.execute("PRAGMA auto_vacuum=INCREMENTAL; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
                         "PRAGMA temp_store=MEMORY"));
  return database;
}

void Database::end_statements(std::function<bool()> is_over) {
  constexpr int kOperations = 10'000;  // of SQLite's virtual machine, some 100 us
  auto next = std::make_unique<std::function<bool()>>(std::move(is_over));
  const bool ends = static_cast<bool>(*next);
  const auto check = [](void* function) { return (*static_cast<std::function<bool()>*>(function))() ? 1 : 0; };
  sqlite3_progress_handler(handle_.get(), ends ? kOperations : 0, ends ? +check : nullptr, next.get());
  is_over_ = std::move(next);
}

Result<Statement> Database::prepare(const char* sql) {
  auto& saved = statements_[sql];
  if (!saved) {
    sqlite3_stmt* created = nullptr;
    const int code = sqlite3_prepare_v3(handle_.get(), sql, -1, SQLITE_PREPARE_PERSISTENT, &created, nullptr);
    if (code != SQLITE_OK) return failure(code, sql);
    saved.reset(created);
  }
  return Statement(*this, saved.get());
}

Result<> Database::run(const char* sql) {
  TRY(Statement statement, prepare(sql));
  return statement.run();
}

Result<> Database::execute(const char* sql) {
  const int code = sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return failure(code, sql);
  return {};
}

Result<std::optional<int64_t>> Database::number(const char* sql) {
  TRY(Statement statement, prepare(sql));
  TRY(bool row, statement.step());
  if (!row || statement.is_null(0)) return std::optional<int64_t>();
  return std::optional<int64_t>(statement.integer(0));
}

Result<> Database::set_sync(Sync sync) {
  return execute(sync == Sync::full ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL");
}

Result<> Database::copy_to(const std::string& path) const {
  struct stat present {};
  if (::lstat(path.c_str(), &present) == 0) return fail(Code::invalid, path + " exists already");
  TRY(Database copy, open(path));
  // The copy gets the source's pages with their own settings; a write-ahead log of its own would stay beside it.
  CHECKED(copy.execute("PRAGMA journal_mode=DELETE"));
  sqlite3_backup* const backup = sqlite3_backup_init(copy.handle_.get(), "main", handle_.get(), "main");
  if (backup == nullptr) return copy.failure(sqlite3_errcode(copy.handle_.get()), "begin a copy");
  const int step = sqlite3_backup_step(backup, -1);  // by its manual, finish() ignores SQLITE_BUSY
  const int code = sqlite3_backup_finish(backup);
  if (step == SQLITE_DONE && code == SQLITE_OK) return {};
  auto failed = copy.failure(code == SQLITE_OK ? step : code, "copy the database");
  ::unlink(path.c_str());
  return failed;
}

int64_t Database::changed_rows() const { return sqlite3_changes64(handle_.get()); }

int64_t Database::steps() const {
  int64_t steps = 0;
  for (const auto& [sql, statement] : statements_)
    steps += sqlite3_stmt_status(statement.get(), SQLITE_STMTSTATUS_VM_STEP, 0);
  return steps;
}

Statement::Statement(Statement&& other) noexcept
    : database_(other.database_),
      statement_(std::exchange(other.statement_, nullptr)),
      next_(other.next_),
      failed_(other.failed_) {}

Statement::~Statement() {
  if (statement_ == nullptr) return;
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

Statement& Statement::bind(int64_t value) {
  failed_ |= sqlite3_bind_int64(statement_, next_++, value);
  return *this;
}
Statement& Statement::bind(std::string_view text) {
  failed_ |= sqlite3_bind_text64(statement_, next_++, text.data() ? text.data() : "", text.size(), SQLITE_TRANSIENT,
                                 SQLITE_UTF8);
  return *this;
}
Statement& Statement::bind_blob(std::string_view bytes) {
  failed_ |= sqlite3_bind_blob64(statement_, next_++, bytes.data() ? bytes.data() : "", bytes.size(), SQLITE_TRANSIENT);
  return *this;
}

Result<bool> Statement::step() {
  if (failed_ != 0) return database_->failure(SQLITE_MISUSE, sqlite3_sql(statement_));
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return database_->failure(code, sqlite3_sql(statement_));
}
Result<> Statement::run() {
  TRY(bool row, step());
  static_cast<void>(row);
  return {};
}

int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement_, column); }
std::string Statement::text(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  return bytes ? std::string(bytes, static_cast<size_t>(sqlite3_column_bytes(statement_, column))) : std::string();
}
std::string Statement::blob(int column) const {
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement_, column));
  return bytes ? std::string(bytes, static_cast<size_t>(sqlite3_column_bytes(statement_, column))) : std::string();
}
bool Statement::is_null(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }

Result<Transaction> Transaction::begin(Database& database) {
  CHECKED(database.run("BEGIN IMMEDIATE"));
  return Transaction(database);
}
Transaction::~Transaction() {
  if (database_) (void)database_->run("ROLLBACK");
}
Result<> Transaction::commit() {
  CHECKED(database_->run("COMMIT"));
  database_ = nullptr;
  return {};
}

}  // namespace journal
