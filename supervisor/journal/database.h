// Database: one connection to one SQLite file. Statements are prepared once and kept; text and blobs are bound, never
// pasted. Whoever holds it uses it from one thread.
// Source: supervisor/journal/journal.cc. Used by: the writer's thread, and programs that only read (tests, tools).
// Errors: exhausted (the disk is full), unavailable (locked for longer than the busy time, I/O), internal (SQL of ours
// that is wrong, a damaged file); each with what SQLite says.
#pragma once
#include <algorithm>
#include <cstdint>
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

// One run of a prepared statement: bind in order, then step. Leaving the scope makes it ready for its next run.
class [[nodiscard]] Statement {
 public:
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&&) = delete;
  ~Statement();

  Statement& bind(int64_t value);
  Statement& bind(std::string_view text);
  Statement& bind_blob(std::string_view bytes);
  // False when there is no (further) row.
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
  int failed_ = 0;  // of a bind
};

// A count as SQLite stores it, which knows no unsigned numbers.
inline int64_t stored(uint64_t value) { return static_cast<int64_t>(std::min<uint64_t>(value, INT64_MAX)); }

enum class Sync { normal, full };  // PRAGMA synchronous: a commit is written, or has also reached the disk

class Database {
 public:
  enum class Access { read_write, read_only };
  // Makes the file when it is missing. Files are the owner's alone.
  static Result<Database> open(const std::string& path, Access access = Access::read_write);
  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;
  ~Database();

  // `sql` is a constant of ours: its text is the key under which the statement is kept.
  Result<Statement> prepare(const char* sql);
  // One statement without values, kept as those of prepare() are.
  Result<> run(const char* sql);
  // Any number of statements without values.
  Result<> execute(const char* sql);
  // The first column of the first row; nothing when there is no row or it is NULL.
  Result<std::optional<int64_t>> number(const char* sql);
  Result<> set_sync(Sync sync);
  int64_t changed_rows() const;  // by the last statement
  // Steps of SQLite's virtual machine by statements that are kept, so far: what work costs on any machine. For tests.
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
  std::unique_ptr<sqlite3, Close> handle_;
  std::map<const void*, std::unique_ptr<sqlite3_stmt, Finalize>> statements_;  // destroyed before the connection
};

// BEGIN IMMEDIATE; what was not committed is taken back.
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
