// The audit chain: what was written is proven, what was changed is found.
#include "supervisor/journal/audit.h"

#include <nlohmann/json.hpp>

#include "tests/catch.h"
#include "tests/temp_directory.h"

using namespace journal;
using nlohmann::json;

namespace {

struct Chain {
  TempDirectory folder;
  Database database;

  explicit Chain(int entries) : database(open_file()) {
    for (int i = 1; i <= entries; i++) add(i);
  }
  Database open_file() {
    auto opened = open_checked(folder.path() / "journal.db", {audit_part()});
    REQUIRE(opened);
    return std::move(opened->database);
  }
  void add(int i) {
    AuditEntry entry{1000 + i, "acme", 1000, 77, "tools/call", "tool-" + std::to_string(i), "{}"};
    REQUIRE(append_audit(database, entry));
  }
  AuditVerdict verdict() {
    auto found = verify_audit(database);
    REQUIRE(found);
    return *found;
  }
};

}  // namespace

TEST_CASE("a chain that nobody touched is whole, over restarts too", "[journal]") {
  Chain chain(20);
  CHECK(chain.verdict().problem.empty());
  CHECK(chain.verdict().entries == 20);
  const std::string head = chain.verdict().head;
  CHECK(head.size() == 64);
  chain.database = Database(chain.open_file());
  chain.add(21);
  CHECK(chain.verdict().problem.empty());
  CHECK(chain.verdict().entries == 21);
  CHECK(chain.verdict().head != head);
  CHECK(Chain(0).verdict().problem.empty());
}

TEST_CASE("an entry that was changed, removed, added or moved is found", "[journal]") {
  auto [tampering, good, problem] = GENERATE(table<const char*, uint64_t, const char*>({
      {"UPDATE audit SET subject='other' WHERE number=7", 6, "entry 7 is not what was written"},
      {"UPDATE audit SET tenant='acmf' WHERE number=1", 0, "entry 1 is not"},
      {"UPDATE audit SET at_ms=at_ms+1 WHERE number=20", 19, "entry 20 is not"},
      {"UPDATE audit SET uid=0 WHERE number=3", 2, "entry 3 is not"},
      {"UPDATE audit SET shape='{\"a\":1}' WHERE number=3", 2, "entry 3 is not"},
      // What moves from one field to the next changes the entry.
      {"UPDATE audit SET action='tools/calltool', subject='-5' WHERE number=5", 4, "entry 5 is not"},
      {"DELETE FROM audit WHERE number=7", 6, "entry 7 is missing"},
      {"DELETE FROM audit WHERE number=1", 0, "entry 1 is missing"},
      {"DELETE FROM audit WHERE number>17", 17, "entries 18 to 20 are missing"},
      {"DELETE FROM audit", 0, "entries 1 to 20 are missing"},
      {"DELETE FROM audit WHERE number=7; UPDATE audit SET number=number-1 WHERE number>7", 6, "entry 7 is not"},
      {"UPDATE audit SET number=-1 WHERE number=4; UPDATE audit SET number=4 WHERE number=5; "
       "UPDATE audit SET number=5 WHERE number=-1",
       3, "entry 4 is not"},
      {"INSERT INTO audit SELECT 21, at_ms, tenant, uid, pid, action, subject, shape, hash FROM audit WHERE number=20",
       20, "entry 21 is not"},
      {"UPDATE audit_ends SET hash=zeroblob(32) WHERE which='last'", 20, "is not the last one"},
  }));
  CAPTURE(tampering);
  Chain chain(20);
  REQUIRE(chain.verdict().problem.empty());
  REQUIRE(chain.database.execute(tampering));
  CHECK(chain.verdict().problem.find(problem) != std::string::npos);
  CAPTURE(chain.verdict().problem);
  CHECK(chain.verdict().entries == good);
}

TEST_CASE("old entries are forgotten from the front, and the rest is still one chain", "[journal]") {
  Chain chain(50);
  CHECK(forget_audit(chain.database, 40, 0, 1000).value_or(0) == 10);
  CHECK(chain.verdict().entries == 40);
  CHECK(chain.verdict().problem.empty());
  CHECK(forget_audit(chain.database, 1000, 1016, 1000).value_or(0) == 5);  // 11..15 are older
  CHECK(forget_audit(chain.database, 10, 0, 7).value_or(0) == 7);          // no more at once
  CHECK(chain.verdict().entries == 28);
  chain.add(51);
  CHECK(chain.verdict().problem.empty());
  REQUIRE(chain.database.execute("DELETE FROM audit WHERE number=(SELECT min(number) FROM audit)"));
  CHECK(chain.verdict().problem == "entry 23 is missing");
}

TEST_CASE("the shape of arguments tells types and sizes, and no value", "[journal]") {
  const json arguments = json::parse(
      R"j({"code":"print('secret')","timeout_seconds":1.5,"context_vars":{"password":"hunter2"},"tags":[1,2],"x":null})j");
  CHECK(
      shape_of(arguments) ==
      R"j({"code":"string(15)","context_vars":"object(1)","tags":"array(2)","timeout_seconds":"number","x":"null"})j");
  CHECK(shape_of(json(7)) == "{}");
  json many = json::object();
  for (int i = 0; i < 100; i++) many["key" + std::to_string(i) + std::string(500, 'k')] = i;
  CHECK(shape_of(many).size() < 4000);
  CHECK(json::parse(shape_of(many))["..."] == 68);
}
