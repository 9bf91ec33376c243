// The file itself: values go in and out as they are, parts bring their tables, and a file that is not ours to use is
// set aside.
#include "supervisor/records/journal/database.h"

#include <sys/stat.h>

#include <fstream>

#include "supervisor/records/journal/schema.h"
#include "tests/catch.h"
#include "tests/temp_directory.h"

using namespace journal;

namespace {

SchemaPart notes() { return {"notes", {"CREATE TABLE notes(text TEXT, bytes BLOB)"}}; }

int64_t count(Database& database, const char* sql) {
  auto match = database.number(sql);
  REQUIRE(match);
  return match->value_or(-1);
}

void spoil(const std::string& path, std::streamoff at, std::string_view bytes) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(at);
  file << bytes;
  REQUIRE(file.good());
}

size_t files_in(const TempDirectory& folder) {
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) files += entry.is_regular_file();
  return files;
}

}  // namespace

TEST_CASE("text and bytes come back as they went in, whatever is in them", "[journal]") {
  TempDirectory folder;
  auto opened = open_checked(folder.path() / "journal.db", {notes()});
  REQUIRE(opened);
  Database& database = opened->database;
  const std::string odd("a'); DROP TABLE notes; --\0\xff", 27);
  for (int i = 0; i < 2; i++) {  // the statement is kept and used again
    auto insert = database.prepare("INSERT INTO notes VALUES(?,?)");
    REQUIRE(insert);
    REQUIRE(insert->bind("x").bind_blob(odd).run());
  }
  auto rows = database.prepare("SELECT text, bytes FROM notes");
  REQUIRE(rows);
  REQUIRE(rows->step().value_or(false));
  CHECK(rows->text(0) == "x");
  CHECK(rows->blob(1) == odd);
  struct stat status {};
  REQUIRE(::stat((folder.path() / "journal.db").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
}

TEST_CASE("a transaction that is not committed is taken back", "[journal]") {
  TempDirectory folder;
  auto opened = open_checked(folder.path() / "journal.db", {notes()});
  REQUIRE(opened);
  {
    auto transaction = Transaction::begin(opened->database);
    REQUIRE(transaction);
    REQUIRE(opened->database.execute("INSERT INTO notes VALUES('lost', NULL)"));
  }
  CHECK(count(opened->database, "SELECT count(*) FROM notes") == 0);
  {
    auto transaction = Transaction::begin(opened->database);
    REQUIRE(transaction);
    REQUIRE(opened->database.execute("INSERT INTO notes VALUES('kept', NULL)"));
    REQUIRE(transaction->commit());
  }
  CHECK(count(opened->database, "SELECT count(*) FROM notes") == 1);
}

TEST_CASE("parts bring their tables once, and later steps later", "[journal]") {
  TempDirectory folder;
  const std::string path = folder.path() / "journal.db";
  SchemaPart part = notes();
  {
    auto opened = open_checked(path, {part});
    REQUIRE(opened);
    REQUIRE(opened->database.execute("INSERT INTO notes VALUES('old', NULL)"));
  }
  part.steps.push_back("ALTER TABLE notes ADD COLUMN colour TEXT NOT NULL DEFAULT 'grey'");
  {
    auto opened = open_checked(path, {part, {"other", {"CREATE TABLE other(x)"}}});
    REQUIRE(opened);
    CHECK(opened->set_aside.empty());
    CHECK(count(opened->database, "SELECT count(*) FROM notes WHERE colour='grey'") == 1);
    CHECK(count(opened->database, "SELECT count(*) FROM other") == 0);
    CHECK(count(opened->database, "PRAGMA auto_vacuum") == 2);
  }
  // A program that knows less than the file does not write to it.
  auto older = open_checked(path, {notes()});
  REQUIRE(older);
  CHECK(older->set_aside.find("'notes' has version 2") != std::string::npos);
  CHECK(count(older->database, "SELECT count(*) FROM notes") == 0);
}

TEST_CASE("a file that cannot be used is set aside, whole, and another is begun", "[journal]") {
  TempDirectory folder;
  const std::string path = folder.path() / "journal.db";
  std::string why;
  SECTION("text") {
    std::ofstream(path) << std::string(10'000, 'x');
    why = "not a database";
  }
  SECTION("another program's database") {
    auto other = Database::open(path);
    REQUIRE(other);
    REQUIRE(other->execute("CREATE TABLE theirs(x); INSERT INTO theirs VALUES(1)"));
    why = "another program";
  }
  SECTION("pages that were overwritten") {
    {
      auto opened = open_checked(path, {notes()});
      REQUIRE(opened);
      REQUIRE(opened->database.execute(
          "WITH n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<5000) INSERT INTO notes SELECT 'row ' || i, "
          "zeroblob(100) FROM n; PRAGMA wal_checkpoint(TRUNCATE)"));
    }
    spoil(path, 8 * 4096, std::string(20 * 4096, '\x5a'));
    why = "damaged";
  }
  auto opened = open_checked(path, {notes()});
  REQUIRE(opened);
  CAPTURE(opened->set_aside);
  CHECK(opened->set_aside.find(why) != std::string::npos);
  CHECK(opened->set_aside.find(".set-aside-") != std::string::npos);
  REQUIRE(opened->database.execute("INSERT INTO notes VALUES('new', NULL)"));
  CHECK(files_in(folder) >= 2);
}

TEST_CASE("a damaged write-ahead log costs what was in it, not the start", "[journal]") {
  TempDirectory folder;
  const std::string path = folder.path() / "journal.db", copy = folder.path() / "copy.db";
  auto opened = open_checked(path, {notes()});
  REQUIRE(opened);
  REQUIRE(opened->database.execute("INSERT INTO notes VALUES('logged', NULL)"));
  // As a crash would leave it: the log is there, nobody has closed the file.
  std::filesystem::copy_file(path, copy);
  std::filesystem::copy_file(path + "-wal", copy + "-wal");
  spoil(copy + "-wal", 100, std::string(200, '\x5a'));
  auto checked = open_checked(copy, {notes()});
  REQUIRE(checked);
  CHECK(count(checked->database, "SELECT count(*) FROM notes") == 0);
}

TEST_CASE("a folder that cannot be written is an error, and nothing is set aside", "[journal]") {
  TempDirectory folder;
  auto missing = open_checked(folder.path() / "no" / "journal.db", {notes()});
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == Code::unavailable);
  // A link could lead anywhere.
  std::filesystem::create_symlink(folder.path() / "elsewhere", folder.path() / "journal.db");
  CHECK_FALSE(open_checked(folder.path() / "journal.db", {notes()}));
  CHECK_FALSE(std::filesystem::exists(folder.path() / "elsewhere"));
}

TEST_CASE("a copy of a database that another program has locked is an error, not an empty file", "[journal]") {
  TempDirectory folder;
  const std::string file = folder.path() / "journal.db", copy = folder.path() / "copy.db";
  auto owner = Database::open(file, Database::Access::read_write);
  REQUIRE(owner);
  REQUIRE(owner->execute("CREATE TABLE notes(text TEXT); PRAGMA journal_mode=DELETE; BEGIN EXCLUSIVE"));
  auto reader = Database::open(file, Database::Access::read_only);
  REQUIRE(reader);
  REQUIRE(reader->execute("PRAGMA busy_timeout=0"));
  const auto copied = reader->copy_to(copy);
  REQUIRE_FALSE(copied);
  CHECK(copied.error().code == Code::unavailable);
  CHECK_FALSE(std::filesystem::exists(copy));
  REQUIRE(owner->execute("COMMIT"));
  CHECK(reader->copy_to(copy));
}

TEST_CASE("a statement that takes too long is ended, and the connection works on", "[journal]") {
  TempDirectory folder;
  auto opened = open_checked(folder.path() / "journal.db", {notes()});
  REQUIRE(opened);
  Database& database = opened->database;
  constexpr const char* kEndless =
      "WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers) SELECT count(*) FROM numbers";
  int looks = 0;
  database.end_statements([&looks] { return ++looks == 3; });
  const auto ended = database.number(kEndless);
  REQUIRE_FALSE(ended);
  CHECK(ended.error().code == Code::exhausted);
  CHECK(count(database, "SELECT count(*) FROM notes") == 0);
  database.end_statements({});
  CHECK(looks == 3);
}
