// Database: one connection to one SQLite file. Statements are prepared once and stored; texts and blobs are bound,
// never pasted into SQL. Its owner uses it from one thread only.
// Source: supervisor/records/journal/journal.cc. Used by: the writer's thread, and programs that only read (tests,
// tools). Errors: exhausted (the disk is full), unavailable (locked for longer than the busy time of 5 s, I/O),
// internal (wrong SQL of the daemon, a damaged file); each with SQLite's message.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "supervisor/base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace journal {

class Database;

// Statement: one run of a prepared statement: bind values in order, then step. Its destructor resets it for the next
// run.
class [[nodiscard]] Statement {
 public:
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&&) = delete;
  ~Statement();

  Statement& bind(int64_t value);
  Statement& bind(std::string_view text);
  Statement& bind_blob(std::string_view bytes);
  Statement& bind_null() {  // a parameter without a value is NULL
    next_++;
    return *this;
  }
  // False: there is no further row.
  Result<bool> step();
  // For statements without rows.
  Result<> run();

  int64_t integer(int column) const;
  std::string text(int column) const;
  std::string blob(int column) const;
  bool is_null(int column) const;

 private:
  friend class Database;
  Statement(Database& database, sqlite3_stmt* statement) : database_(&database), statement_(statement) {}
  Database* database_;
  sqlite3_stmt* statement_;
  int next_ = 1;
  int failed_ = 0;  // SQLite's code of a failed bind; 0: no bind failed
};

// A count as SQLite stores it: SQLite has no unsigned numbers.
inline int64_t stored(uint64_t value) { return static_cast<int64_t>(std::min<uint64_t>(value, INT64_MAX)); }

enum class Sync { normal, full };  // PRAGMA synchronous: a commit is written, or has also reached the disk

class Database {
 public:
  enum class Access { read_write, read_only };
  // Makes the file if it is missing, with access for its owner only.
  static Result<Database> open(const std::string& path, Access access = Access::read_write);
  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;
  ~Database();

  // `sql` must be a constant of the program: its address is the key under which the statement is stored.
  Result<Statement> prepare(const char* sql);
  // Runs one statement without values; it is stored like those of prepare().
  Result<> run(const char* sql);
  // Runs any number of statements without values; they are not stored.
  Result<> execute(const char* sql);
  // The first column of the first row; empty: there is no row, or the value is NULL.
  Result<std::optional<int64_t>> number(const char* sql);
  Result<> set_sync(Sync sync);
  // Writes the whole database, as of one moment, into a new file at `path`, while other connections read and write.
  // Errors: those of open(), and of either file; then no file is left.
  Result<> copy_to(const std::string& path) const;
  // `is_over` is called from time to time while a statement runs; true: the statement ends with Code::exhausted. Empty:
  // no statement is ended. The function is called on the thread of the connection.
  void end_statements(std::function<bool()> is_over);
  int64_t changed_rows() const;  // by the last statement
  // Steps of SQLite's virtual machine in the stored statements so far: a measure of cost that is the same on any
  // machine. For tests.
  int64_t steps() const;
  const std::string& path() const { return path_; }

 private:
  friend class Statement;
  Database() = default;
  tl::unexpected<Error> failure(int code, std::string_view doing) const;
  void note_fault(int code) const;
  struct Close {
    void operator()(sqlite3* handle) const;
  };
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  std::string path_;
  std::unique_ptr<std::function<bool()>> is_over_;  // the connection below uses it
  std::unique_ptr<sqlite3, Close> handle_;
  std::map<const void*, std::unique_ptr<sqlite3_stmt, Finalize>> statements_;  // destroyed before the connection
};

// Transaction: BEGIN IMMEDIATE. Its destructor rolls back, unless commit() succeeded.
class [[nodiscard]] Transaction {
 public:
  static Result<Transaction> begin(Database& database);
  Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  Result<> commit();

 private:
  explicit Transaction(Database& database) : database_(&database) {}
  Database* database_;
};

}  // namespace journal
