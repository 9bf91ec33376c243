// Scene: a journal as the daemon has it, in a folder of its own, for tests.
#pragma once
#include <memory>
#include <string>

#include "supervisor/records/journal/journal.h"
#include "tests/catch.h"
#include "tests/jail/await.h"
#include "tests/temp_directory.h"

namespace journal {

struct Scene {
  TempDirectory folder;
  Loop loop;
  std::unique_ptr<Journal> book;

  explicit Scene(Settings settings = {}) { open(settings); }
  void open(Settings settings = {}) {
    auto opened = Journal::open(loop, folder.path(), settings);
    REQUIRE(opened);
    book = *std::move(opened);
  }
  Database reader() {
    auto database = Database::open(folder.path() / "journal.db", Database::Access::read_only);
    REQUIRE(database);
    return *std::move(database);
  }
  Journal::Execution begin(const std::string& id, const std::string& tenant = "acme",
                           const std::string& language = "python") {
    return book->begin({id, tenant, language, "default", 4, now_ms()});
  }
  void run(const std::string& id, const std::string& outcome = "ok", int64_t wall_us = 1000, Ledger ledger = {}) {
    auto ended = await(loop, book->end(begin(id), ended_with(outcome, wall_us, ledger)));
    REQUIRE(ended);
  }
  static Ended ended_with(const std::string& outcome, int64_t wall_us = 1000, Ledger ledger = {}) {
    Ended ended;
    ended.outcome = outcome;
    ended.wall_us = wall_us;
    ended.took_us = wall_us * 2;
    ended.ledger = ledger;
    return ended;
  }
  ExecutionStatistics statistics(const std::string& tenant = "acme") {
    auto match = await(loop, book->statistics(tenant));
    REQUIRE(match);
    return *match;
  }
  std::string outcome_of(const std::string& id) {
    Database database = reader();
    auto rows = database.prepare("SELECT coalesce(outcome, 'running') FROM executions WHERE id=?");
    REQUIRE(rows);
    auto row = rows->bind(id).step();
    REQUIRE(row);
    return *row ? rows->text(0) : "no row";
  }
};

}  // namespace journal
