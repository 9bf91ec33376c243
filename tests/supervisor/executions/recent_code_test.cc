// RecentCode: what it counts, what its tenant can read, and its bounds.
#include "supervisor/executions/recent_code.h"

#include <fmt/format.h>

#include "tests/catch.h"

using executions::RecentCode;
using executions::RecentCodeLimits;

namespace {

constexpr char kEmptyHash[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

// One execution, from its begin to its end.
void run(RecentCode& recent, const std::string& tenant, const std::string& id, std::string_view code,
         bool succeeded = true, int64_t wall_us = 1000) {
  recent.begin(tenant, id, "python", code, 100, 5000);
  recent.end(tenant, id, succeeded, wall_us);
}

std::string text_of(const RecentCode& recent, const std::string& tenant, const std::string& id) {
  const auto it = recent.find(tenant, id);
  return it && it->text ? *it->text : "-";
}

}  // namespace

TEST_CASE("recent code is read by its own tenant, and repeated code is counted", "[executions]") {
  RecentCode recent;
  run(recent, "a", "e1", "x = 1", true, 1000);
  run(recent, "a", "e2", "x = 1", false, 3000);
  run(recent, "a", "e3", "x = 2");
  run(recent, "b", "f1", "x = 1");
  CHECK(text_of(recent, "a", "e1") == "x = 1");
  CHECK(text_of(recent, "a", "e3") == "x = 2");
  CHECK_FALSE(recent.find("b", "e1"));
  CHECK_FALSE(recent.find("a/reports", "e1"));
  CHECK_FALSE(recent.find("c", "e1"));

  const auto repeated = recent.programs("", 2, 10);
  REQUIRE(repeated.size() == 1);
  CHECK(repeated[0].tenant == "a");
  CHECK(repeated[0].bytes == 5);
  CHECK(repeated[0].is_readable);
  CHECK(repeated[0].counts.runs == 2);
  CHECK(repeated[0].counts.ended == 2);
  CHECK(repeated[0].counts.succeeded == 1);
  CHECK(repeated[0].counts.wall_us == 4000);
  CHECK(repeated[0].counts.last_ms == 5000);
  CHECK(repeated[0].counts.last_execution == "e2");
  CHECK(recent.programs("b", 2, 10).empty());
  CHECK(recent.programs("", 1, 2).size() == 2);
  CHECK(recent.programs("", 1, 2)[0].hash == repeated[0].hash);
}

TEST_CASE("the hash of recent code is the SHA-256 of its text", "[executions]") {
  RecentCode recent;
  run(recent, "a", "e1", "");
  CHECK(recent.find("a", "e1")->hash == kEmptyHash);
  recent.begin("a", "e2", "shell", "", 100, 0);  // in another language it is another program
  CHECK(recent.find("a", "e2")->hash == kEmptyHash);
  CHECK(recent.programs("", 1, 10).size() == 2);
}

TEST_CASE("uses of skills are counted once for each execution", "[executions]") {
  RecentCode recent;
  recent.begin("a/w", "e1", "python", "import", 100, 7000);
  recent.use_skill("a/w", "e1", "group_by", true, 7000);
  recent.use_skill("a/w", "e1", "group_by", true, 7000);
  recent.end("a/w", "e1", true, 2000);
  recent.begin("a/w", "e2", "python", "import", 100, 8000);
  recent.use_skill("a/w", "e2", "group_by", true, 8000);
  const auto used = recent.skills("a", 10);
  REQUIRE(used.size() == 1);
  CHECK(used[0].tenant == "a/w");
  CHECK(used[0].skill == "group_by");
  CHECK(used[0].is_shared);
  CHECK(used[0].counts.runs == 2);
  CHECK(used[0].counts.ended == 1);
  CHECK(used[0].counts.wall_us == 2000);
  CHECK(used[0].counts.last_execution == "e2");
  CHECK(recent.skills("aa", 10).empty());
  recent.forget("a/w");
  CHECK(recent.skills("", 10).empty());
  CHECK_FALSE(recent.find("a/w", "e2"));
}

TEST_CASE("many different programs do not push out one that is repeated", "[executions]") {
  RecentCodeLimits limits;
  limits.programs = 10;
  RecentCode recent(limits);
  run(recent, "a", "r0", "often");
  run(recent, "a", "r1", "often");
  for (int i = 0; i < 1000; i++) run(recent, "a", fmt::format("e{}", i), fmt::format("once {}", i));
  run(recent, "a", "r2", "often");
  REQUIRE(recent.programs("", 2, 100).size() == 1);
  CHECK(recent.programs("", 2, 100)[0].counts.runs == 3);
  CHECK(recent.programs("", 1, 100).size() == 10);
  CHECK(text_of(recent, "a", "e999") == "once 999");
  CHECK(text_of(recent, "a", "r2") == "often");
}

TEST_CASE("the texts of recent code have bounds, and counts outlive texts", "[executions]") {
  RecentCodeLimits limits;
  limits.text_bytes = 100;
  limits.tenant_bytes = 250;
  limits.all_bytes = 400;
  limits.executions = 5;
  RecentCode recent(limits);
  const std::string name(100, '1'), two(100, '2'), three(100, '3'), large(101, 'x');
  run(recent, "a", "e1", name);
  run(recent, "a", "e2", name);
  run(recent, "a", "e3", two);
  run(recent, "a", "e4", three);
  CHECK(recent.find("a", "e1"));
  CHECK(text_of(recent, "a", "e1") == "-");  // the longest unused of three texts
  CHECK(text_of(recent, "a", "e3") == two);
  CHECK(recent.programs("", 2, 10)[0].counts.runs == 2);
  CHECK_FALSE(recent.programs("", 2, 10)[0].is_readable);
  run(recent, "a", "e5", large);
  CHECK(recent.find("a", "e5"));
  CHECK(text_of(recent, "a", "e5") == "-");
  run(recent, "a", "e6", name);  // held again
  CHECK(text_of(recent, "a", "e6") == name);
  CHECK(text_of(recent, "a", "e2") == name);
  CHECK_FALSE(recent.find("a", "e1"));  // five executions are known

  run(recent, "b", "f1", name);
  run(recent, "b", "f2", two);
  CHECK(text_of(recent, "a", "e6") == name);
  run(recent, "c", "g1", name);  // more than all_bytes: the longest unused tenant goes
  CHECK_FALSE(recent.find("a", "e6"));
  CHECK(text_of(recent, "b", "f2") == two);
  CHECK(text_of(recent, "c", "g1") == name);
}

TEST_CASE("the policy limits how many executions' code is kept, and tenants have a bound", "[executions]") {
  RecentCodeLimits limits;
  limits.tenants = 3;
  limits.skills = 2;
  RecentCode recent(limits);
  for (const char* id : {"e1", "e2", "e3"}) recent.begin("a", id, "python", id, 2, 0);
  CHECK_FALSE(recent.find("a", "e1"));
  CHECK(text_of(recent, "a", "e2") == "e2");
  for (const char* tenant : {"b", "c", "d"}) run(recent, tenant, "e", "x");
  CHECK_FALSE(recent.find("a", "e3"));
  CHECK(recent.find("b", "e"));
  for (const char* skill : {"s1", "s2", "s3"}) recent.use_skill("b", "e", skill, false, 0);
  CHECK(recent.skills("b", 10).size() == 2);
  recent.end("b", "e", true, 1);        // also of a skill that was pushed out
  recent.end("x", "unknown", true, 1);  // and of a tenant that is not known
}
