// Where work goes: the home of a workspace, and the choices for a run that may go anywhere.
#include "supervisor/cluster/placement/place.h"

#include <map>
#include <random>
#include <set>

#include "tests/catch.h"

using namespace std::chrono_literals;
using cluster::BootClock;
using cluster::lighter_home;
using cluster::NodeReport;
using cluster::NodeTable;
using cluster::RunPlacement;
using tenants::TenantId;

namespace {

const BootClock::time_point kPlaceNow{1h};

NodeReport fresh_report(const std::string& name, uint32_t used = 0) {
  NodeReport report;
  report.name = name;
  report.slots = 16;
  report.used = used;
  report.boot = "boot-" + name;
  report.received = kPlaceNow;
  return report;
}

NodeTable table_of(size_t count) {
  NodeTable nodes;
  for (size_t i = 1; i <= count; ++i) REQUIRE(nodes.report(fresh_report("n" + std::to_string(i))));
  return nodes;
}

TenantId numbered_workspace(size_t number) { return {"acme", "w" + std::to_string(number)}; }

// No node has a home: the hash alone decides.
std::string home_of(const NodeTable& nodes, const TenantId& workspace, const cluster::PlacementNeeds& needs = {}) {
  auto home = lighter_home(nodes, {}, workspace, needs, kPlaceNow);
  REQUIRE(home);
  return *home;
}

cluster::RandomBits seeded_bits(uint64_t seed) {
  return [random = std::mt19937_64(seed)]() mutable { return random(); };
}

}  // namespace

TEST_CASE("the home by hash is the same in every process and for every order of the table", "[cluster]") {
  NodeTable forwards = table_of(50), backwards;
  for (size_t i = 50; i >= 1; --i) REQUIRE(backwards.report(fresh_report("n" + std::to_string(i))));
  for (size_t i = 0; i < 200; ++i)
    CHECK(home_of(forwards, numbered_workspace(i)) == home_of(backwards, numbered_workspace(i)));
  // Known values: a change of the hash would give workspaces another home in the middle of an upgrade.
  CHECK(home_of(forwards, {"acme"}) == "n29");
  CHECK(home_of(forwards, {"acme", "reports"}) == "n14");
}

TEST_CASE("homes are spread evenly", "[cluster]") {
  const NodeTable nodes = table_of(20);
  std::map<std::string, int> homes;
  for (size_t i = 0; i < 20'000; ++i) ++homes[home_of(nodes, numbered_workspace(i))];
  REQUIRE(homes.size() == 20);
  for (const auto& [node, count] : homes) {
    CAPTURE(node);
    CHECK(count > 850);  // 1,000 expected, with a standard deviation of 31
    CHECK(count < 1'150);
  }
}

TEST_CASE("a node that leaves moves only its own homes, and gets exactly these again", "[cluster]") {
  NodeTable nodes = table_of(20);
  std::vector<std::string> before;
  for (size_t i = 0; i < 4'000; ++i) before.push_back(home_of(nodes, numbered_workspace(i)));
  nodes.remove("n7");
  size_t moved = 0;
  std::set<std::string> receivers;
  for (size_t i = 0; i < 4'000; ++i) {
    const std::string now = home_of(nodes, numbered_workspace(i));
    REQUIRE(now != "n7");
    if (before[i] != "n7") {
      REQUIRE(now == before[i]);
      continue;
    }
    ++moved;
    receivers.insert(now);
  }
  CHECK(moved > 140);  // 200 expected
  CHECK(moved < 260);
  CHECK(receivers.size() > 15);  // the others share them
  REQUIRE(nodes.report(fresh_report("n7")));
  for (size_t i = 0; i < 4'000; ++i) REQUIRE(home_of(nodes, numbered_workspace(i)) == before[i]);
}

TEST_CASE("a new node takes its share from all others, and no home moves between old nodes", "[cluster]") {
  NodeTable nodes = table_of(9);
  std::vector<std::string> before;
  for (size_t i = 0; i < 4'000; ++i) before.push_back(home_of(nodes, numbered_workspace(i)));
  REQUIRE(nodes.report(fresh_report("n10")));
  size_t moved = 0;
  for (size_t i = 0; i < 4'000; ++i) {
    const std::string now = home_of(nodes, numbered_workspace(i));
    if (now == before[i]) continue;
    REQUIRE(now == "n10");
    ++moved;
  }
  CHECK(moved > 320);  // 400 expected
  CHECK(moved < 480);
}

TEST_CASE("a node that may not take a home is passed over, whatever its hash", "[cluster]") {
  NodeTable nodes;
  NodeReport good = fresh_report("n1"), bad = fresh_report("n2");
  good.labels = {{"zone", "a"}, {"gpu", "yes"}};
  bad.labels = good.labels;
  cluster::PlacementNeeds needs{{{"gpu", "yes"}}, {2, 3}};
  good.wire = {1, 2};
  bad.wire = {3, 4};
  SECTION("drained") { bad.drained = true; }
  SECTION("silent") { bad.received = kPlaceNow - cluster::kSilentAfter; }
  SECTION("another value of the label") { bad.labels["gpu"] = "no"; }
  SECTION("without the label") { bad.labels.erase("gpu"); }
  SECTION("no protocol version in common: newer") { bad.wire = {4, 5}; }
  SECTION("no protocol version in common: older") { bad.wire = {1, 1}; }
  SECTION("no slots") { bad.slots = 0; }
  REQUIRE(nodes.report(good));
  REQUIRE(nodes.report(bad));
  for (size_t i = 0; i < 50; ++i) CHECK(home_of(nodes, numbered_workspace(i), needs) == "n1");
  for (size_t i = 0; i < 50; ++i) {
    const auto random = seeded_bits(i);
    RunPlacement placement(nodes, {needs}, random);
    CHECK(placement.next(kPlaceNow).value() == "n1");
    const auto second = placement.next(kPlaceNow);
    REQUIRE_FALSE(second);
    CHECK(second.error().code == Code::unavailable);
  }
}

TEST_CASE("the error says why no node may take the work", "[cluster]") {
  NodeTable nodes = table_of(6);
  for (const char* name : {"n1", "n2"}) {
    NodeReport drained = fresh_report(name);
    drained.drained = true;
    REQUIRE(nodes.report(drained));
  }
  NodeReport silent = fresh_report("n3");
  silent.received = kPlaceNow - 1min;
  REQUIRE(nodes.report(silent));
  const auto home = lighter_home(nodes, {}, {"acme"}, {{{"gpu", "yes"}}, {}}, kPlaceNow);
  REQUIRE_FALSE(home);
  CHECK(home.error().code == Code::unavailable);
  CHECK(home.error().what ==
        "no node of the cluster can take this work: 2 drained, 1 not heard for 15 s, 3 without the needed labels");
  CHECK(lighter_home(NodeTable(), {}, {"acme"}, {}, kPlaceNow).error().what ==
        "no node of the cluster can take this work: no node is known");
}

TEST_CASE("a run goes to the better of two nodes when both are freshly heard", "[cluster]") {
  NodeTable nodes;
  REQUIRE(nodes.report(fresh_report("idle", 2)));
  REQUIRE(nodes.report(fresh_report("busy", 3)));
  const auto random = seeded_bits(1);
  for (int i = 0; i < 100; ++i) CHECK(RunPlacement(nodes, {}, random).next(kPlaceNow).value() == "idle");
  NodeReport waiting = fresh_report("idle", 2);
  waiting.waiting = 2;  // executions that wait count like those that run
  REQUIRE(nodes.report(waiting));
  for (int i = 0; i < 100; ++i) CHECK(RunPlacement(nodes, {}, random).next(kPlaceNow).value() == "busy");
}

TEST_CASE("the older a report, the less its load decides, but an overloaded node stays the worse one", "[cluster]") {
  const auto share_of_idle = [](uint32_t difference, BootClock::duration age) {
    NodeTable nodes;
    NodeReport idle = fresh_report("idle", 4), busy = fresh_report("busy", 4 + difference);
    idle.received = busy.received = kPlaceNow - age;
    REQUIRE(nodes.report(idle));
    REQUIRE(nodes.report(busy));
    const auto random = seeded_bits(2);
    int count = 0;
    for (int i = 0; i < 10'000; ++i) count += RunPlacement(nodes, {}, random).next(kPlaceNow).value() == "idle";
    return count / 10'000.0;
  };
  CHECK(share_of_idle(4, 0s) == 1.0);
  CHECK(share_of_idle(4, 1500us) == 1.0);
  CHECK(share_of_idle(4, 3'125us) == Approx(0.875).margin(0.02));
  CHECK(share_of_idle(4, 50ms) == Approx(0.531).margin(0.02));
  CHECK(share_of_idle(4, 3s) == Approx(0.531).margin(0.02));  // no worse than after 50 ms
  CHECK(share_of_idle(16 * 8, 3s) == 1.0);                    // 8 executions per slot more
}

TEST_CASE("a new home goes to the node with fewer homes, of the two with the highest hashes", "[cluster]") {
  const NodeTable nodes = table_of(20);
  cluster::HomeCounts homes;
  for (size_t i = 0; i < 2'000; ++i) {
    const auto home = lighter_home(nodes, homes, numbered_workspace(i), {}, kPlaceNow);
    REQUIRE(home);
    const std::string first = home_of(nodes, numbered_workspace(i));
    if (*home != first) {  // then it is the default home without the first
      NodeTable table = nodes;
      table.remove(first);
      REQUIRE(*home == home_of(table, numbered_workspace(i)));
    }
    ++homes[*home];
  }
  REQUIRE(homes.size() == 20);
  for (const auto& [node, count] : homes) CHECK(count == Approx(100).margin(6));  // by the hash alone: 80 to 120
  CHECK(lighter_home(table_of(1), homes, {"acme"}, {}, kPlaceNow).value() == "n1");
  CHECK(lighter_home(NodeTable(), homes, {"acme"}, {}, kPlaceNow).error().code == Code::unavailable);
}

TEST_CASE("the node of the client is the home, unless it has more homes than others", "[cluster]") {
  NodeTable nodes = table_of(20);
  cluster::HomeCounts homes;
  const auto home_at = [&](size_t i, const std::string& here) {
    auto home = lighter_home(nodes, homes, numbered_workspace(i), {}, kPlaceNow, here);
    REQUIRE(home);
    ++homes[*home];
    return *home;
  };
  size_t near = 0;
  SECTION("clients at all nodes: most are at home") {
    for (size_t i = 0; i < 2'000; ++i) {
      const std::string here = "n" + std::to_string(i * 7'919 % 20 + 1);
      near += home_at(i, here) == here;
    }
    CHECK(near > 1'500);
  }
  SECTION("clients at one node: its homes are no more than those of others") {
    for (size_t i = 0; i < 2'000; ++i) near += home_at(i, "n3") == "n3";
    CHECK(near < 110);
  }
  for (const auto& [node, count] : homes) CHECK(count == Approx(100).margin(6));
  SECTION("a node that may have no home") {
    NodeReport drained = fresh_report("n3");
    drained.drained = true;
    REQUIRE(nodes.report(drained));
    CHECK(home_at(0, "n3") != "n3");
    CHECK(home_at(0, "unknown") != "unknown");
  }
}

TEST_CASE("a node that is doubted is chosen only where both are", "[cluster]") {
  NodeTable nodes;
  const auto random = seeded_bits(7);
  const auto count_of_idle = [&] {
    int count = 0;
    for (int i = 0; i < 100; ++i) count += RunPlacement(nodes, {}, random).next(kPlaceNow).value() == "idle";
    return count;
  };
  NodeReport idle = fresh_report("idle", 0), busy = fresh_report("busy", 20);
  REQUIRE(nodes.report(idle));
  REQUIRE(nodes.report(busy));
  SECTION("it left an order without an answer") {
    nodes.note_unanswered("idle");
    nodes.note_unanswered("unknown");
    CHECK(count_of_idle() == 0);
    SECTION("until its next report") { REQUIRE(nodes.report(idle)); }
    SECTION("until its next answer") { nodes.note_load("idle", "boot-idle", 1, 0, kPlaceNow); }
    SECTION("or until the other is doubted, too") { nodes.note_unanswered("busy"); }
    CHECK(count_of_idle() == 100);
  }
  SECTION("three of its reports are missing") {
    idle.received = kPlaceNow - cluster::kDoubtedAfter;
    REQUIRE(nodes.report(idle));
    CHECK(count_of_idle() == 0);
    busy.received = kPlaceNow - cluster::kDoubtedAfter - 1s;  // and then those of the other: an election
    REQUIRE(nodes.report(busy));
    CHECK(count_of_idle() > 20);
  }
}

TEST_CASE("without a difference in load every node gets its share", "[cluster]") {
  const NodeTable nodes = table_of(10);
  const auto random = seeded_bits(3);
  std::map<std::string, int> runs;
  for (int i = 0; i < 10'000; ++i) ++runs[RunPlacement(nodes, {}, random).next(kPlaceNow).value()];
  REQUIRE(runs.size() == 10);
  for (const auto& [node, count] : runs) CHECK(count == Approx(1'000).margin(150));
}

TEST_CASE("after a refusal another node is asked, four in all, and never one twice", "[cluster]") {
  const NodeTable nodes = table_of(6);
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const auto random = seeded_bits(seed);
    RunPlacement placement(nodes, {}, random);
    std::set<std::string> request;
    for (size_t i = 0; i < cluster::kMaxTries; ++i) request.insert(placement.next(kPlaceNow).value());
    REQUIRE(request.size() == cluster::kMaxTries);
    const auto fifth = placement.next(kPlaceNow);
    REQUIRE_FALSE(fifth);
    CHECK(fifth.error().code == Code::exhausted);
    CHECK(placement.tried().size() == cluster::kMaxTries);
  }
}

TEST_CASE("a cluster smaller than the number of tries is asked once around", "[cluster]") {
  const NodeTable nodes = table_of(2);
  const auto random = seeded_bits(4);
  RunPlacement placement(nodes, {}, random);
  const std::string first = placement.next(kPlaceNow).value();
  CHECK(placement.next(kPlaceNow).value() != first);
  const auto third = placement.next(kPlaceNow);
  REQUIRE_FALSE(third);
  CHECK(third.error().what == "no node of the cluster can take this work: 2 refused or did not answer");
}

TEST_CASE("the only node that may take a run is found among many, whatever the random numbers", "[cluster]") {
  NodeTable nodes = table_of(1'000);
  NodeReport special = fresh_report("n777", 16);
  special.labels = {{"gpu", "yes"}};
  REQUIRE(nodes.report(special));
  const RunPlacement::Request request{{{{"gpu", "yes"}}, {}}};
  CHECK(RunPlacement(nodes, request, seeded_bits(5)).next(kPlaceNow).value() == "n777");
  CHECK(RunPlacement(nodes, request, [] { return uint64_t{0}; }).next(kPlaceNow).value() == "n777");
  CHECK(RunPlacement(nodes, request, [] { return ~uint64_t{0}; }).next(kPlaceNow).value() == "n777");
}

TEST_CASE("a free slot here is used first, if this node may take the run", "[cluster]") {
  NodeTable nodes = table_of(5);
  const auto random = seeded_bits(6);
  RunPlacement placement(nodes, {{}, "n3", true}, random);
  CHECK(placement.next(kPlaceNow).value() == "n3");
  CHECK(placement.next(kPlaceNow).value() != "n3");
  SECTION("a drained node sends its runs away") {
    NodeReport drained = fresh_report("n3");
    drained.drained = true;
    REQUIRE(nodes.report(drained));
    for (int i = 0; i < 50; ++i) CHECK(RunPlacement(nodes, {{}, "n3", true}, random).next(kPlaceNow).value() != "n3");
  }
  SECTION("without a free slot it is a node like the others") {
    int here = 0;
    for (int i = 0; i < 1'000; ++i)
      here += RunPlacement(nodes, {{}, "n3", false}, random).next(kPlaceNow).value() == "n3";
    CHECK(here > 100);
    CHECK(here < 300);
  }
}

TEST_CASE("a node refuses runs when half as many wait as it has slots", "[cluster]") {
  NodeReport self = fresh_report("n1", 16);
  CHECK(cluster::takes_run(self));
  self.waiting = 7;
  CHECK(cluster::takes_run(self));
  self.waiting = 8;
  CHECK_FALSE(cluster::takes_run(self));
  self.waiting = 0;
  self.drained = true;
  CHECK_FALSE(cluster::takes_run(self));
  self = fresh_report("n1");
  self.slots = 0;
  CHECK_FALSE(cluster::takes_run(self));
}

TEST_CASE("the table keeps the last report of each node", "[cluster]") {
  NodeTable nodes = table_of(3);
  nodes.note_load("n2", "boot-n2", 5, 6, kPlaceNow + 1s);
  REQUIRE(nodes.find("n2"));
  CHECK(nodes.find("n2")->used == 5);
  CHECK(nodes.find("n2")->waiting == 6);
  CHECK(nodes.find("n2")->received == kPlaceNow + 1s);
  nodes.note_load("n2", "another boot", 1, 1, kPlaceNow + 2s);
  CHECK(nodes.find("n2")->used == 5);
  nodes.note_load("n9", "boot-n9", 1, 1, kPlaceNow);
  CHECK(nodes.size() == 3);
  nodes.remove("n1");
  nodes.remove("n1");
  CHECK(nodes.size() == 2);
  CHECK(nodes.find("n1") == nullptr);
  CHECK(nodes.find("n2")->used == 5);
  CHECK(nodes.find("n3")->name == "n3");
  nodes.remove("n2");
  nodes.remove("n3");
  CHECK(nodes.size() == 0);
  REQUIRE(nodes.report(fresh_report("n1")));
  CHECK(nodes.at(0).name == "n1");
}

TEST_CASE("the table is bounded, and known nodes are still replaced", "[cluster]") {
  NodeTable nodes = table_of(NodeTable::kMaxNodes);
  const auto one_more = nodes.report(fresh_report("one-more"));
  REQUIRE_FALSE(one_more);
  CHECK(one_more.error().code == Code::exhausted);
  REQUIRE(nodes.report(fresh_report("n5", 9)));
  CHECK(nodes.find("n5")->used == 9);
  CHECK(nodes.size() == NodeTable::kMaxNodes);
}
