// What the sweep of the audit forgets, whose it is, and what the check still proves afterwards.
#include <sodium.h>

#include "tests/supervisor/records/journal/chain.h"

using namespace journal;

TEST_CASE("whoever has most loses its oldest entries; a flood takes nothing of others", "[journal]") {
  Chain chain;
  chain.add_many(20, "quiet");
  chain.add_many(3000, "loud");
  chain.add_many(40, "calm");
  CHECK(chain.forget(1000) > 0);  // 700 calls
  CHECK(chain.number("SELECT count(*) FROM audit WHERE account='quiet'") == 20);
  CHECK(chain.number("SELECT count(*) FROM audit WHERE account='calm'") == 40);
  CHECK(chain.number("SELECT count(*) FROM audit WHERE account='loud'") == 640);
  CHECK(chain.number("SELECT count(*) FROM audit WHERE account='loud' AND subject='x2999'") == 1);  // the newest stay
  const AuditVerdict verdict = chain.verdict();
  CHECK(verdict.problem.empty());
  CHECK(verdict.forgotten.entries == 2360);
  CHECK(verdict.said_by == 3061);
  REQUIRE(verdict.shares.size() == 1);
  CHECK(verdict.shares[0].account == "loud");
  CHECK(verdict.shares[0].calls == 2360);
  CHECK(verdict.shares[0].since_ms == 1'120'021);
  CHECK(chain.forget(1000) == 0);
  CHECK(chain.verdict().head == verdict.head);  // nothing to say, nothing said
}

TEST_CASE("a tenant's workspaces are one share", "[journal]") {
  Chain chain;
  for (int i = 0; i < 20; i++) chain.add_many(40, "loud/w" + std::to_string(i));
  chain.add_many(100, "quiet");
  chain.forget(400);  // 280 calls
  CHECK(chain.number("SELECT count(*) FROM audit WHERE account='quiet'") == 100);
  CHECK(chain.number("SELECT count(*) FROM audit WHERE account='loud'") == 180);
}

TEST_CASE("a tenant's flood of calls takes none of its refusals and approvals; those have shares of their own",
          "[journal]") {
  Chain chain;
  chain.add_many(30, "acme", AuditKind::refusal);
  chain.add_many(20, "acme", AuditKind::approval);
  chain.add_many(2000, "acme");
  chain.forget(1000);
  CHECK(chain.number("SELECT count(*) FROM audit WHERE kind=0") == 700);
  CHECK(chain.number("SELECT count(*) FROM audit WHERE kind=1") == 30);
  CHECK(chain.number("SELECT count(*) FROM audit WHERE kind=2") == 20);
  chain.add_many(2000, "acme", AuditKind::refusal);
  chain.forget(1000);
  CHECK(chain.number("SELECT count(*) FROM audit WHERE kind=0") == 700);
  CHECK(chain.number("SELECT count(*) FROM audit WHERE kind=1") == 200);
  CHECK(chain.number("SELECT count(*) FROM audit WHERE kind=2") == 20);
  CHECK(chain.verdict().problem.empty());
  CHECK(chain.verdict().shares.size() == 2);
}

TEST_CASE("bytes are a limit, too: long entries push out their own tenant's", "[journal]") {
  Chain chain;
  chain.add_many(200, "quiet");
  for (int i = 0; i < 500; i++) chain.add(std::to_string(i), "loud", AuditKind::call, std::string(8000, 'x'));
  chain.forget(1'000'000, 100'000, 1 << 20);
  CHECK(chain.number("SELECT count(*) FROM audit WHERE account='quiet'") == 200);
  CHECK(chain.number("SELECT bytes FROM audit_sums WHERE kind=0") <= (1 << 20) / 10 * 7);
  CHECK(chain.number("SELECT count(*) FROM audit WHERE account='loud'") > 70);
  CHECK(chain.verdict().problem.empty());
}

TEST_CASE("what is too old goes, whosever it is, and no more at once than asked", "[journal]") {
  Chain chain;
  chain.add_many(50, "acme");
  const int64_t middle = chain.clock_ms;
  chain.add_many(50, "acme");
  CHECK(chain.forget(1000, 20, 1 << 30, middle + 1) == 20);
  CHECK(chain.forget(1000, 100, 1 << 30, middle + 1) == 30);
  CHECK(chain.forget(1000, 100, 1 << 30, middle + 1) == 0);
  CHECK(chain.verdict().problem.empty());
  CHECK(chain.number("SELECT count(*) FROM audit_gaps") == 1);
}

TEST_CASE("who has lost everything is one of the others: tables hold no more tenants than entries", "[journal]") {
  Chain chain;
  for (int i = 0; i < 300; i++) chain.add("x", "tenant-" + std::to_string(i));
  chain.forget(100'000, 100'000, 1 << 30, chain.clock_ms - 9);
  CHECK(chain.number("SELECT count(*) FROM audit_shares WHERE kind=0") == 11);  // ten, and "the others"
  const AuditVerdict verdict = chain.verdict();
  CHECK(verdict.problem.empty());
  REQUIRE(verdict.shares.size() == 1);
  CHECK(verdict.shares[0].account == "");
  CHECK(verdict.shares[0].entries == 290);
}

TEST_CASE("gaps are joined: there are never more than entries, and the statements are bounded", "[journal]") {
  Chain chain;
  for (int i = 0; i < 4000; i++) {
    if (i % 400 == 399) chain.clock_ms += kRepeatWindowMs;
    chain.add("x" + std::to_string(i), i % 2 ? "a" : "b");
    if (i % 2 && i > 300) chain.forget(200);
  }
  CHECK(chain.verdict().problem.empty());
  CHECK(chain.number("SELECT count(*) FROM audit_gaps") <= chain.number("SELECT count(*) FROM audit") + 1);
  CHECK(chain.number("SELECT count(*) FROM audit WHERE kind=3") <= 1001);
  CHECK(chain.number("SELECT count(*) FROM audit WHERE kind=0") == 140);
}

TEST_CASE("a removal that the sweep did not make is found, also beside what it did", "[journal]") {
  auto [tampering, problem] = GENERATE(table<const char*, const char*>({
      {"DELETE FROM audit WHERE number=(SELECT max(number)-1 FROM audit)", "is missing"},
      // As a sweep would have left it, but for its word.
      {"UPDATE audit_gaps SET last=last+1, hash=(SELECT hash FROM audit WHERE number=last+1) "
       "WHERE first=(SELECT min(first) FROM audit_gaps); DELETE FROM audit WHERE number IN (SELECT last FROM "
       "audit_gaps)",
       "381 entries are missing, but entry 521 records that 380 were forgotten"},
      // One that was put back for one that was taken.
      {"UPDATE audit_gaps SET last=last+1, hash=(SELECT hash FROM audit WHERE number=last+1) "
       "WHERE first=(SELECT min(first) FROM audit_gaps); DELETE FROM audit WHERE number IN (SELECT last FROM "
       "audit_gaps); "
       "UPDATE audit_forgotten SET entries=entries+1",
       "entries are missing, but entry"},
      {"UPDATE audit_shares SET account='nobody' WHERE forgotten>0 AND account='loud'",
       "the number of missing entries of each tenant"},
      {"UPDATE audit_shares SET forgotten=forgotten-1 WHERE forgotten>0",
       "the number of missing entries of each tenant"},
      {"UPDATE audit_forgotten SET entries=1", "the number of missing entries of each tenant"},
      {"DELETE FROM audit_gaps", "entry"},
      {"UPDATE audit_gaps SET hash=zeroblob(32)", "does not follow"},
      {"DELETE FROM audit WHERE kind=3", "is missing"},
  }));
  CAPTURE(tampering);
  Chain chain;
  chain.add_many(10, "quiet");
  chain.add_many(490, "loud");
  chain.add_many(20, "quiet");
  REQUIRE(chain.forget(200) == 380);
  chain.add("after");
  REQUIRE(chain.verdict().problem.empty());
  REQUIRE(chain.database.execute(tampering));
  CAPTURE(chain.verdict().problem);
  CHECK(chain.verdict().problem.find(problem) != std::string::npos);
}

TEST_CASE("an entry that is put back in the place of another is found: the sweep's word is about which", "[journal]") {
  Chain chain;
  chain.add_many(400, "loud");
  std::string saved =
      "CREATE TEMP TABLE kept AS SELECT number, at_ms, tenant, uid, pid, action, subject, shape, hash, "
      "version, kind, count, last_ms FROM audit";
  REQUIRE(chain.database.execute(saved.c_str()));
  REQUIRE(chain.forget(200) == 260);
  // The last that was forgotten comes back, the first that is kept goes with the gap of another number.
  REQUIRE(chain.database.execute(
      "UPDATE audit_gaps SET last=259, hash=(SELECT hash FROM kept WHERE number=259) WHERE first=1;"
      "INSERT INTO audit(number, at_ms, tenant, uid, pid, action, subject, shape, hash, version, kind, count, last_ms) "
      "SELECT * FROM kept WHERE number=260;"
      "DELETE FROM audit WHERE number=261;"
      "INSERT INTO audit_gaps SELECT 261, 261, hash FROM kept WHERE number=261"));
  CHECK(chain.verdict().problem == "the missing entries are not those that entry 401 records as forgotten");
}

namespace {

// The file of the first release: its tables, its hashes.
constexpr char kFirstTables[] = R"(
PRAGMA application_id=1465009226; PRAGMA user_version=1;
CREATE TABLE parts(name TEXT PRIMARY KEY, version INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO parts VALUES('audit', 1);
CREATE TABLE audit(
  number INTEGER PRIMARY KEY,
  at_ms INTEGER NOT NULL, tenant TEXT NOT NULL, uid INTEGER NOT NULL, pid INTEGER NOT NULL,
  action TEXT NOT NULL, subject TEXT NOT NULL, shape TEXT NOT NULL, hash BLOB NOT NULL
);
CREATE TABLE audit_ends(which TEXT PRIMARY KEY, number INTEGER NOT NULL, hash BLOB NOT NULL) WITHOUT ROWID;
INSERT INTO audit_ends VALUES('before', 0, zeroblob(32)), ('last', 0, zeroblob(32));
)";
struct FirstEntry {
  int64_t number;
  std::string tenant, action, shape;
};
std::string first_hash(const std::string& previous, const FirstEntry& entry) {
  std::string bytes = previous;
  for (const std::string& field :
       {std::to_string(entry.number), std::to_string(entry.number + 5000), std::string("1000"), std::string("77"),
        entry.tenant, entry.action, std::string("subject"), entry.shape})
    bytes += std::to_string(field.size()) + ':' + field;
  std::string hash(32, '\0');
  crypto_generichash(reinterpret_cast<unsigned char*>(hash.data()), 32,
                     reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), nullptr, 0);
  return hash;
}
// Entries 1 to 30, of which the first ten are forgotten; 15 was refused, 20 approved.
void write_first_release(const std::string& path) {
  auto database = Database::open(path);
  REQUIRE(database);
  REQUIRE(database->execute("PRAGMA synchronous=OFF"));
  REQUIRE(database->execute(kFirstTables));
  std::string hash(32, '\0');
  for (int64_t number = 1; number <= 30; number++) {
    const FirstEntry entry{number, number % 2 ? "acme" : "other/reports", number == 20 ? "approval" : "call",
                           number == 15 ? R"({"verdict":"denied"})" : R"({"verdict":"ok"})"};
    hash = first_hash(hash, entry);
    auto insert = database->prepare("INSERT INTO audit VALUES(?,?,?,1000,77,?,'subject',?,?)");
    REQUIRE(insert);
    insert->bind(number).bind(number + 5000).bind(entry.tenant).bind(entry.action).bind(entry.shape);
    REQUIRE(insert->bind_blob(hash).run());
    auto last = database->prepare("UPDATE audit_ends SET number=?, hash=? WHERE which='last'");
    REQUIRE(last);
    REQUIRE(last->bind(number).bind_blob(hash).run());
  }
  REQUIRE(
      database->execute("UPDATE audit_ends SET (number, hash) = (SELECT number, hash FROM audit WHERE number=10) "
                        "WHERE which='before'; DELETE FROM audit WHERE number<=10"));
}

}  // namespace

TEST_CASE("a chain of the first release verifies as it is, and goes on in the same file", "[journal]") {
  TempDirectory folder;
  const std::string old = folder.path() / "old.db";
  write_first_release(old);
  std::string head;
  {
    auto database = Database::open(old, Database::Access::read_only);
    REQUIRE(database);
    auto verdict = verify_audit(*database);
    REQUIRE(verdict);
    CHECK(verdict->problem.empty());
    CHECK(verdict->entries == 20);
    CHECK(verdict->unproven == 10);
    head = verdict->head;
  }
  Chain chain;
  chain.database = [&] {
    auto opened = open_checked(old, {audit_part()});
    REQUIRE(opened);
    CHECK(opened->set_aside == "");
    REQUIRE(opened->database.execute("PRAGMA synchronous=OFF"));
    return std::move(opened->database);
  }();
  CHECK(chain.verdict().problem.empty());
  CHECK(chain.verdict().head == head);
  CHECK(chain.verdict().unproven == 10);
  CHECK(chain.number("SELECT number FROM audit WHERE kind=1") == 15);
  CHECK(chain.number("SELECT number FROM audit WHERE kind=2") == 20);
  CHECK(chain.number("SELECT entries FROM audit_shares WHERE account='other' AND kind=0") == 9);
  CHECK(chain.number("SELECT sum(entries) FROM audit_sums") == 20);

  chain.clock_ms = 10'000'000;
  chain.add("new");
  CHECK(chain.verdict().entries == 21);
  CHECK(chain.verdict().problem.empty());
  CHECK(chain.forget(1000) == 0);  // the first word of a sweep: what was forgotten before is pinned now
  CHECK(chain.verdict().said_by == 32);
  CHECK(chain.verdict().problem.empty());
  chain.add_many(3000, "acme");
  CHECK(chain.forget(1000) > 2000);
  CHECK(chain.verdict().problem.empty());
  CHECK(chain.verdict().forgotten.entries == 30 + 1 + 1 + 3000 + 1 - chain.verdict().entries);
  CHECK(chain.number("SELECT count(*) FROM audit WHERE account='other'") == 10);
  SECTION("one entry more of the first release goes with what it forgot") {
    REQUIRE(
        chain.database.execute("UPDATE audit_gaps SET last=12, hash=(SELECT hash FROM audit WHERE number=12) "
                               "WHERE first=1; DELETE FROM audit WHERE number=12"));
    CHECK(chain.verdict().problem.find("entries are missing, but entry 3033 records that") != std::string::npos);
  }
  SECTION("an entry of the first release is changed") {
    REQUIRE(chain.database.execute("UPDATE audit SET shape='{}' WHERE number=12"));
    CHECK(chain.verdict().problem.find("entry 12 was changed") != std::string::npos);
  }
}

// Steps of SQLite's machine, which do not depend on how busy this one is.
TEST_CASE("what an entry and a step of the sweep cost does not grow with tenants or entries", "[journal]") {
  auto costs = [](int tenants, int entries) {
    Chain chain;
    for (int i = 0; i < entries; i++) {
      if (i % 500 == 499) chain.clock_ms += kRepeatWindowMs;
      chain.add("x" + std::to_string(i), "tenant-" + std::to_string(i % tenants));
    }
    chain.forget(static_cast<uint64_t>(entries), 100);  // statements are prepared
    const int64_t before = chain.database.steps();
    for (int i = 0; i < 100; i++) chain.add("y" + std::to_string(i), "tenant-0");
    const int64_t added = chain.database.steps();
    REQUIRE(chain.forget(static_cast<uint64_t>(entries), 100) == 100);
    const int64_t swept = chain.database.steps();
    REQUIRE(chain.verdict().problem.empty());
    return std::pair{(added - before) / 100, (swept - added) / 100};
  };
  const auto few = costs(10, 2'000), many_entries = costs(10, 20'000), many_tenants = costs(10'000, 20'000);
  CAPTURE(few.first, few.second, many_entries.first, many_entries.second, many_tenants.first, many_tenants.second);
  CHECK(many_entries.first < 2 * few.first);
  CHECK(many_tenants.first < 2 * few.first);
  CHECK(many_entries.second < 3 * few.second);
  CHECK(many_tenants.second < 3 * few.second);
}
