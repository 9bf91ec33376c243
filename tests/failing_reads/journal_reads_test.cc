// The journal, with pages of its database or a spool that cannot be read: a list is an error or whole, and nothing that
// was acknowledged is taken for missing.
#include <filesystem>

#include "supervisor/records/journal/audit.h"
#include "supervisor/records/journal/history.h"
#include "supervisor/records/journal/task_rows.h"
#include "tests/failing_reads/failing_folder.h"
#include "tests/supervisor/records/journal/scene.h"

namespace fs = std::filesystem;

namespace journal {
namespace {

constexpr int kRows = 200;
constexpr size_t kPage = 4096;  // bytes of a page of SQLite

struct FilledJournal : Scene {
  TaskRows answers{*book, TaskTable::named_executions};
  const std::string file = folder.path() / "journal.db";

  FilledJournal() {
    for (int i = 0; i < kRows; i++) {
      const std::string number = std::to_string(i);
      run("e" + number);
      book->audit({now_ms(), "acme", 1, 1, "tools/call", "x", "{\"a\":\"string(" + number + ")\"}"});
      tasks::StoredTask task;
      task.id = "t" + number;
      task.owner = {"acme", "uid:1"};
      REQUIRE(await(loop, answers.add(task)));
      task.state = tasks::TaskState::completed;
      REQUIRE(await(loop, answers.end(task, number + std::string(kPage, 'x'))));
    }
    const Writer::Work work = [](Database&) { return Result<>(); };  // behind all the others
    REQUIRE(await(loop, book->run(work)));
    auto writer = Database::open(file);
    REQUIRE(writer);
    REQUIRE(writer->execute("PRAGMA wal_checkpoint(TRUNCATE)"));  // all rows are in the file
  }
  // Reads with each page as the first bad one.
  void expect_error_or_all(const std::function<Result<size_t>(Database&)>& read, size_t all) {
    {
      Database database = reader();
      REQUIRE(read(database) == all);
    }
    size_t failed = 0;
    for (size_t first_bad = 0; first_bad < fs::file_size(file); first_bad += kPage) {
      const FailingFile failing("/journal.db", first_bad);
      auto database = Database::open(file, Database::Access::read_only);
      const auto match = database ? read(*database) : Result<size_t>(tl::unexpected<Error>(database.error()));
      failed += !match;
      if (match) CHECK(*match == all);
    }
    CHECK(failed > kRows / 40);
  }
};

}  // namespace

TEST_CASE_METHOD(FilledJournal, "rows that cannot all be read are an error, not a shorter list", "[failing]") {
  SECTION("of the executions") {
    const auto read = [](Database& database) -> Result<size_t> {
      TRY(const HistoryPage page, read_history(database, {}, 0));
      return page.rows.size();
    };
    expect_error_or_all(read, kRows);
  }
  SECTION("of the audit chain: an entry that cannot be read is no missing entry") {
    const auto read = [](Database& database) -> Result<size_t> {
      TRY(const AuditVerdict verdict, verify_audit(database));
      CHECK(verdict.problem.empty());
      return static_cast<size_t>(verdict.entries);
    };
    Database database = reader();
    const size_t entries = read(database).value();
    CHECK(entries >= kRows);
    expect_error_or_all(read, entries);
  }
  SECTION("of the answers") {
    const auto read = [](Database& database) -> Result<size_t> {
      TRY(const auto all, read_tasks(database, TaskTable::named_executions));
      return all.size();
    };
    expect_error_or_all(read, kRows);
  }
}

TEST_CASE_METHOD(FilledJournal, "an answer that cannot be read is not missing", "[failing]") {
  {
    const FailingFile failing("/journal.db", 2 * kPage);
    const auto failed = await(loop, answers.result("t7"));
    REQUIRE_FALSE(failed);
    CHECK(failed.error().code != Code::not_found);
  }
  CHECK(await(loop, answers.result("t7")).value() == "7" + std::string(kPage, 'x'));
}

TEST_CASE_METHOD(FilledJournal, "a journal with a page that cannot be read stops the start, and stays", "[failing]") {
  book.reset();
  const auto bytes = fs::file_size(file);
  for (const size_t first_bad : {size_t{0}, kPage, bytes / 2, bytes - kPage}) {
    const FailingFile failing("/journal.db", first_bad);
    const auto opened = Journal::open(loop, folder.path(), {});
    REQUIRE_FALSE(opened);
    CHECK_THAT(opened.error().what, Catch::Matchers::Contains("I/O error") ||
                                        Catch::Matchers::Contains("cannot be read: Input/output error"));
    CHECK(fs::file_size(file) == bytes);
  }
  open();
  CHECK(await(loop, TaskRows(*book, TaskTable::named_executions).result("t7")).value() ==
        "7" + std::string(kPage, 'x'));
}

TEST_CASE("a spool that cannot be read stops the start, and stays", "[failing]") {
  Scene scene;
  for (const char* id : {"a", "b", "c"}) scene.run(id);
  scene.book.reset();
  const fs::path spool = scene.folder.path() / "spool";
  const auto bytes = fs::file_size(spool);
  REQUIRE(bytes > 0);
  for (const size_t first_bad : {0u, 50u}) {
    const FailingFile failing("/spool", first_bad);
    const auto opened = Journal::open(scene.loop, scene.folder.path(), {});
    REQUIRE_FALSE(opened);
    CHECK(opened.error().err == EIO);
    CHECK(fs::file_size(spool) == bytes);
  }
  scene.open();
  CHECK(scene.outcome_of("c") == "ok");
}

}  // namespace journal
