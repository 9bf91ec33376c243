// Chain: a journal file with nothing but the audit in it, for tests.
#pragma once
#include <string>

#include "supervisor/records/journal/audit.h"
#include "tests/catch.h"
#include "tests/temp_directory.h"

struct Chain {
  TempDirectory folder;
  journal::Database database;
  int64_t clock_ms = 1'000'000;

  explicit Chain(int entries = 0) : database(open_file()) {
    for (int i = 1; i <= entries; i++) add("tool-" + std::to_string(i));
  }
  std::string path() const { return folder.path() / "journal.db"; }
  journal::Database open_file() {
    auto opened = journal::open_checked(path(), {journal::audit_part()});
    REQUIRE(opened);
    REQUIRE(opened->set_aside == "");
    REQUIRE(opened->database.execute("PRAGMA synchronous=OFF"));  // nothing here waits for a disk
    return std::move(opened->database);
  }
  void reopen() {
    auto opened = open_file();
    database = std::move(opened);
  }
  // One call, a millisecond after the one before.
  void add(const std::string& subject, const std::string& tenant = "acme",
           journal::AuditKind kind = journal::AuditKind::call, const std::string& shape = "{}") {
    journal::AuditEntry entry{++clock_ms, tenant, 1000, 77, "tools/call", subject, shape};
    entry.kind = kind;
    REQUIRE(journal::append_audit(database, entry));
  }
  // As many, of which none is folded: not more than 500 a minute, and none as in an earlier one.
  void add_many(int count, const std::string& tenant, journal::AuditKind kind = journal::AuditKind::call) {
    for (int i = 0; i < count; i++) {
      if (i % 500 == 0) clock_ms += journal::kRepeatWindowMs;
      add("x" + std::to_string(i), tenant, kind);
    }
  }
  journal::AuditVerdict verdict() {
    auto match = journal::verify_audit(database);
    REQUIRE(match);
    return *match;
  }
  uint64_t forget(uint64_t entries, uint64_t at_once = 100'000, uint64_t bytes = uint64_t{1} << 40,
                  int64_t oldest_ms = 0) {
    REQUIRE(database.execute("UPDATE audit SET recorded_ms=at_ms"));  // the clock of this test
    auto removed = journal::forget_audit(database, {entries, bytes, oldest_ms}, at_once);
    REQUIRE(removed);
    return *removed;
  }
  int64_t number(const char* sql) {
    auto match = database.number(sql);
    REQUIRE(match);
    return match->value_or(0);
  }
};
