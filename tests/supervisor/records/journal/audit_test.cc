// The audit chain: what was written is proven, what was changed is found.
#include "supervisor/records/journal/audit.h"

#include <sodium.h>

#include "supervisor/base/json/json_value.h"
#include "tests/catch.h"
#include "tests/supervisor/records/journal/chain.h"

using namespace journal;

TEST_CASE("a chain that nobody touched is whole, over restarts too", "[journal]") {
  Chain chain(20);
  CHECK(chain.verdict().problem.empty());
  CHECK(chain.verdict().entries == 20);
  const std::string head = chain.verdict().head;
  CHECK(head.size() == 64);
  chain.reopen();
  chain.add("tool-21");
  CHECK(chain.verdict().problem.empty());
  CHECK(chain.verdict().entries == 21);
  CHECK(chain.verdict().head != head);
  CHECK(Chain(0).verdict().problem.empty());
}

TEST_CASE("an entry that was changed, removed, added or moved is found", "[journal]") {
  auto [tampering, good, problem] = GENERATE(table<const char*, uint64_t, const char*>({
      {"UPDATE audit SET subject='other' WHERE number=7", 6, "entry 7 was changed"},
      {"UPDATE audit SET tenant='acmf' WHERE number=1", 0, "entry 1 was changed"},
      {"UPDATE audit SET at_ms=at_ms+1 WHERE number=20", 19, "entry 20 was changed"},
      {"UPDATE audit SET uid=0 WHERE number=3", 2, "entry 3 was changed"},
      {"UPDATE audit SET shape='{\"a\":1}' WHERE number=3", 2, "entry 3 was changed"},
      {"UPDATE audit SET kind=1 WHERE number=3", 2, "entry 3 was changed"},
      {"UPDATE audit SET count=2 WHERE number=3", 2, "entry 3 was changed"},
      {"UPDATE audit SET principal='token:ci' WHERE number=3", 2, "entry 3 was changed"},
      {"UPDATE audit SET version=3 WHERE number=3", 2, "entry 3 was changed"},
      {"UPDATE audit SET last_ms=5 WHERE number=3", 2, "entry 3 was changed"},
      {"UPDATE audit SET version=0 WHERE number=3", 2, "entry 3 was changed"},
      {"UPDATE audit SET version=1 WHERE number=3", 2, "entry 3 was changed"},
      // What moves from one field to the next changes the entry.
      {"UPDATE audit SET action='tools/calltool', subject='-5' WHERE number=5", 4, "entry 5 was changed"},
      {"DELETE FROM audit WHERE number=7", 6, "entry 7 is missing"},
      {"DELETE FROM audit WHERE number=1", 0, "entry 1 is missing"},
      {"DELETE FROM audit WHERE number>17", 17, "entries 18 to 20 are missing"},
      {"DELETE FROM audit", 0, "entries 1 to 20 are missing"},
      {"DELETE FROM audit WHERE number=7; UPDATE audit SET number=number-1 WHERE number>7", 6, "entry 7 was changed"},
      {"UPDATE audit SET number=-1 WHERE number=4; UPDATE audit SET number=4 WHERE number=5; "
       "UPDATE audit SET number=5 WHERE number=-1",
       3, "entry 4 was changed"},
      {"INSERT INTO audit(number, at_ms, tenant, uid, pid, action, subject, shape, hash, version) "
       "SELECT 21, at_ms, tenant, uid, pid, action, subject, shape, hash, version FROM audit WHERE number=20",
       20, "entry 21 was changed"},
      // A gap that no sweep made.
      {"INSERT INTO audit_gaps SELECT 7, 7, hash FROM audit WHERE number=7; DELETE FROM audit WHERE number=7", 19,
       "1 entries are missing, and no entry records that they were forgotten"},
      {"UPDATE audit_ends SET hash=zeroblob(32) WHERE which='last'", 20, "is not the last written entry"},
  }));
  CAPTURE(tampering);
  Chain chain(20);
  REQUIRE(chain.verdict().problem.empty());
  REQUIRE(chain.database.execute(tampering));
  CHECK(chain.verdict().problem.find(problem) != std::string::npos);
  CAPTURE(chain.verdict().problem);
  CHECK(chain.verdict().entries == good);
}

TEST_CASE("repeats within a minute are counted, and told by one entry when the minute is over", "[journal]") {
  Chain chain;
  for (int i = 0; i < 1000; i++) chain.add("same");
  chain.add("other");
  CHECK(chain.verdict().entries == 2);
  CHECK(chain.verdict().calls == 2);
  CHECK(chain.verdict().unsealed == 999);
  CHECK(seal_repeats(chain.database, 1'000'001 + kRepeatWindowMs - 1, 100).value_or(9) == 0);  // not yet
  CHECK(seal_repeats(chain.database, chain.clock_ms + kRepeatWindowMs, 100).value_or(9) == 2);
  CHECK(chain.verdict().problem.empty());
  CHECK(chain.verdict().entries == 3);
  CHECK(chain.verdict().calls == 1001);
  CHECK(chain.verdict().unsealed == 0);
  CHECK(chain.number("SELECT count FROM audit WHERE number=3") == 999);
  CHECK(chain.number("SELECT at_ms FROM audit WHERE number=3") == 1'000'002);
  CHECK(chain.number("SELECT last_ms FROM audit WHERE number=3") == 1'001'000);
  CHECK(chain.number("SELECT subject='same' AND shape='{}' AND pid=77 FROM audit WHERE number=3") == 1);
  REQUIRE(chain.database.execute("UPDATE audit SET count=99 WHERE number=3"));
  CHECK(chain.verdict().problem == "entry 3 was changed, or does not follow entry 2");
}

TEST_CASE("a repeat after its minute is an entry again, and the counts before it are told first", "[journal]") {
  Chain chain;
  chain.add("same");
  chain.add("same");
  chain.clock_ms += kRepeatWindowMs;
  chain.add("same");
  CHECK(chain.verdict().entries == 3);
  CHECK(chain.verdict().calls == 3);
  CHECK(chain.number("SELECT at_ms FROM audit WHERE number=2") == 1'000'002);
  CHECK(chain.number("SELECT at_ms FROM audit WHERE number=3") == 1'000'003 + kRepeatWindowMs);
  chain.clock_ms -= 10 * kRepeatWindowMs;  // a clock that was set back
  chain.add("same");
  CHECK(chain.verdict().entries == 4);
  CHECK(chain.verdict().problem.empty());
}

TEST_CASE("what differs in anything is no repeat; what `same` leaves out may differ", "[journal]") {
  Chain chain;
  const AuditEntry entry{5, "acme", 1, 2, "call", "a.b", R"({"verdict":"ok"})"};
  REQUIRE(append_audit(chain.database, entry));
  auto changed = [&](auto change) {
    AuditEntry other = entry;
    change(other);
    const uint64_t before = chain.verdict().entries;
    REQUIRE(append_audit(chain.database, other));
    return chain.verdict().entries > before;
  };
  CHECK_FALSE(changed([](AuditEntry& e) { e.at_ms = 6; }));
  CHECK(changed([](AuditEntry& e) { e.tenant = "acme/reports"; }));
  CHECK(changed([](AuditEntry& e) { e.uid = 9; }));
  CHECK(changed([](AuditEntry& e) { e.pid = 9; }));
  CHECK(changed([](AuditEntry& e) { e.action = "question"; }));
  CHECK(changed([](AuditEntry& e) { e.subject = "a.c"; }));
  CHECK(changed([](AuditEntry& e) { e.shape = R"({"verdict":"failed"})"; }));
  CHECK(changed([](AuditEntry& e) { e.kind = AuditKind::refusal; }));
  CHECK_FALSE(changed([&](AuditEntry& e) { e.same = entry.shape, e.shape = R"({"verdict":"ok","ms":7})"; }));
  // A person's word is told each time.
  CHECK(changed([](AuditEntry& e) { e.kind = AuditKind::approval; }));
  CHECK(changed([](AuditEntry& e) { e.kind = AuditKind::approval; }));
}

TEST_CASE("a flood whose every call is another is told by tool, then by action, and every call is counted",
          "[journal]") {
  Chain chain;
  constexpr int kCalls = 20'000;
  for (int i = 0; i < kCalls; i++) {
    chain.add("tool-" + std::to_string(i % 3), "acme/" + std::to_string(i % 2), AuditKind::call, std::to_string(i));
    chain.clock_ms--;  // all within the minute
  }
  CHECK(chain.verdict().entries < 610);
  for (int i = 0; i < kCalls; i++) chain.add(std::to_string(i), "acme", AuditKind::refusal), chain.clock_ms--;
  CHECK(chain.verdict().entries < 610 + 710);
  chain.add("mine", "other");  // whom that does not touch
  CHECK(chain.number("SELECT count(*) FROM audit WHERE tenant='other' AND subject='mine'") == 1);
  REQUIRE(seal_repeats(chain.database, INT64_MAX, 100'000));
  const AuditVerdict after = chain.verdict();
  CHECK(after.problem.empty());
  CHECK(after.calls == 2 * kCalls + 1);
  CHECK(after.unsealed == 0);
  CHECK(chain.number("SELECT max(count) FROM audit WHERE kind=0") > 3'000);
  CHECK(chain.number("SELECT count FROM audit WHERE subject='*' AND kind=1 AND count>1") > 19'000);
}

TEST_CASE("what a client names is cut before it is kept", "[journal]") {
  AuditEntry entry;
  entry.subject = std::string(1 << 20, 's');
  entry.shape = "{\"a\":\"" + std::string(1 << 20, 'x') + "\"}";
  bound_sizes(entry);
  CHECK(entry.subject.size() == 640);
  CHECK(entry.shape == R"({"...":1048584})");
}

TEST_CASE("the shape of arguments tells types and sizes, and no value", "[journal]") {
  const Json arguments = Json::parse(
      R"j({"code":"print('secret')","timeout_seconds":1.5,"context_vars":{"password":"hunter2"},"tags":[1,2],"x":null})j");
  CHECK(
      shape_of(arguments) ==
      R"j({"code":"string(15)","timeout_seconds":"number","context_vars":"object(1)","tags":"array(2)","x":"null"})j");
  CHECK(shape_of(Json(7)) == "{}");
  Json many = Json::object();
  for (int i = 0; i < 100; i++) many["key" + std::to_string(i) + std::string(500, 'k')] = i;
  CHECK(shape_of(many).size() < 4000);
  CHECK(Json::parse(shape_of(many))["..."] == 68);
}

namespace {

// Entries 1 to 12 as the version before principals wrote them: its tables, its hashes.
void write_chain_of_users(const std::string& path) {
  SchemaPart before = audit_part();
  before.steps.resize(3);
  auto opened = open_checked(path, {before});
  REQUIRE(opened);
  Database& database = opened->database;
  std::string hash(32, '\0');
  for (int64_t number = 1; number <= 12; number++) {
    std::string bytes = hash + "v1:";
    for (const std::string& field : {std::to_string(number), std::to_string(number + 5000), std::string("1000"),
                                     std::string("77"), std::string("acme"), std::string("call"), std::string("tool"),
                                     std::string("{}"), std::string("0"), std::string("1"), std::string("0")})
      bytes += std::to_string(field.size()) + ':' + field;
    crypto_generichash(reinterpret_cast<unsigned char*>(hash.data()), 32,
                       reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), nullptr, 0);
    auto insert = database.prepare(
        "INSERT INTO audit(number, at_ms, tenant, uid, pid, action, subject, shape, hash, version) "
        "VALUES(?,?,'acme',1000,77,'call','tool','{}',?,1)");
    REQUIRE(insert);
    REQUIRE(insert->bind(number).bind(number + 5000).bind_blob(hash).run());
    auto last = database.prepare("UPDATE audit_ends SET number=?, hash=? WHERE which='last'");
    REQUIRE(last);
    REQUIRE(last->bind(number).bind_blob(hash).run());
  }
}

}  // namespace

TEST_CASE("a chain of the version before principals verifies as it is, and goes on in the same file", "[journal]") {
  TempDirectory folder;
  const std::string path = folder.path() / "journal.db";
  write_chain_of_users(path);
  {
    auto before = Database::open(path, Database::Access::read_only);
    REQUIRE(before);
    auto verdict = verify_audit(*before);
    REQUIRE(verdict);
    CHECK(verdict->problem.empty());
    CHECK(verdict->entries == 12);
  }
  auto opened = open_checked(path, {audit_part()});
  REQUIRE(opened);
  REQUIRE(opened->set_aside.empty());
  AuditEntry entry{9000, "ci", static_cast<uint32_t>(-1), -1, "tools/call", "execute_code", "{}"};
  entry.principal = "token:ci";
  REQUIRE(append_audit(opened->database, entry));
  auto verdict = verify_audit(opened->database);
  REQUIRE(verdict);
  CHECK(verdict->problem.empty());
  CHECK(verdict->entries == 13);
  auto [tampering, good] = GENERATE(table<const char*, uint64_t>({
      {"UPDATE audit SET principal='token:other' WHERE number=13", 12},
      {"UPDATE audit SET principal='' WHERE number=13", 12},
      {"UPDATE audit SET version=1 WHERE number=13", 12},
      {"UPDATE audit SET principal='token:ci' WHERE number=4", 3},  // of an entry that was sealed without one
      {"UPDATE audit SET version=2 WHERE number=4", 3},
  }));
  CAPTURE(tampering);
  REQUIRE(opened->database.execute(tampering));
  verdict = verify_audit(opened->database);
  REQUIRE(verdict);
  CHECK_FALSE(verdict->problem.empty());
  CHECK(verdict->entries == good);
}

TEST_CASE("calls of a token and of a user are no repeats of each other", "[journal]") {
  Chain chain;
  chain.add("tool");
  AuditEntry entry{++chain.clock_ms, "acme", 1000, 77, "tools/call", "tool", "{}"};
  entry.principal = "token:ci";
  REQUIRE(append_audit(chain.database, entry));
  CHECK(chain.number("SELECT count(*) FROM audit") == 2);
  REQUIRE(append_audit(chain.database, entry));
  CHECK(chain.number("SELECT count(*) FROM audit") == 2);
  REQUIRE(seal_repeats(chain.database, INT64_MAX, 100));
  CHECK(chain.number("SELECT count(*) FROM audit WHERE principal='token:ci'") == 2);
  CHECK(chain.verdict().problem.empty());
}
