// The pages of the view of a cluster: each fits into a message, together they are whole, for 1,000 nodes and for many
// homes. The rows are what a reader of hostile messages takes.
#include "supervisor/cluster/node/cluster_view.h"

#include <fmt/format.h>

#include <chrono>
#include <set>

#include "supervisor/base/json/json.h"
#include "supervisor/cluster/bus/subjects.h"
#include "tests/catch.h"

using namespace cluster;
using namespace std::chrono_literals;

namespace {

constexpr size_t kNodes = 1000;
const std::string kSelf = "node-0500";

std::string name_at(size_t i) { return fmt::format("node-{:04}", i); }

// Each hundredth node has as many and as long labels as it may.
struct Scene {
  TrustRecord trust;
  NodeTable table;
  HomeCounts homes;
  BootClock::time_point now = BootClock::time_point(1h);

  Scene() {
    for (size_t i = 0; i < kNodes; i++) {
      trust.nodes.push_back({name_at(i), {}, {}, {}});
      NodeReport report;
      report.name = name_at(i);
      for (size_t label = 0; label < (i % 100 == 0 ? kMaxLabels : 2); label++)
        report.labels[fmt::format("{:02}{}", label, std::string(kMaxLabelText - 2, 'n'))] =
            std::string(kMaxLabelText, 'v');
      report.slots = 16;
      report.version = "0.1.0";
      report.boot = std::string(32, 'b');
      report.received = now - 1s;
      CHECK(table.report(std::move(report)));
      homes[name_at(i)] = i;
    }
  }
  ViewSources sources() const { return {trust, table, homes, kSelf}; }

  std::vector<NodeView> all_nodes(size_t& largest) const {
    std::vector<NodeView> all;
    for (std::string after;;) {
      Json message = {{"nodes", nodes_page(sources(), after, now)}};
      message["nodes"]["id"] = uint64_t{1} << 52;
      largest = std::max(largest, dump_json(message).size());
      const auto page = read_node_page(message["nodes"]);
      REQUIRE(page);
      REQUIRE_FALSE(page->nodes.empty());
      for (const auto& node : page->nodes) all.push_back(node);
      after = page->next;
      if (after.empty()) return all;
    }
  }
  NodeView node(const std::string& name) const {
    size_t largest = 0;
    for (const auto& all_node : all_nodes(largest))
      if (all_node.name == name) return all_node;
    FAIL("no node " << name);
    return {};
  }
  // Replaces the report of a node.
  template <class Change>
  void change(const std::string& name, Change change) {
    NodeReport report = *table.find(name);
    change(report);
    CHECK(table.report(std::move(report)));
  }
};

}  // namespace

TEST_CASE("1,000 nodes fit into messages of the bound, and each is in one of them", "[cluster]") {
  const Scene scene;
  size_t largest = 0;
  const auto started = std::chrono::steady_clock::now();
  const auto all = scene.all_nodes(largest);
  const auto took = std::chrono::steady_clock::now() - started;
  CHECK(largest <= kMaxLine);
  CHECK(largest > kMaxLine / 2);
  REQUIRE(all.size() == kNodes);
  for (size_t i = 0; i < kNodes; i++) {
    const bool is_next = all[i].name == name_at(i) && all[i].homes == i;
    if (!is_next) FAIL("row " << i << " is " << all[i].name);
  }
  CHECK(all[0].labels.size() == kMaxLabels);
  CHECK(took < 5s);  // some 0.1 s; the sanitizers take longer, and so does a busy machine
  NodeNumbers numbers;
  count_nodes(scene.sources(), scene.now, numbers);
  CHECK(numbers.nodes[size_t(NodeState::alive)] == kNodes - 1);
  CHECK(numbers.nodes[size_t(NodeState::here)] == 1);
  CHECK(numbers.homes == 500);
}

TEST_CASE("the state of a node says whether it gets work", "[cluster]") {
  Scene scene;
  CHECK(scene.node(kSelf).state == NodeState::here);
  CHECK(scene.node("node-0001").state == NodeState::alive);
  CHECK(scene.node("node-0001").silent_for == 1s);

  scene.change("node-0002", [&](NodeReport& report) { report.received = scene.now - kDoubtedAfter; });
  CHECK(scene.node("node-0002").state == NodeState::doubted);
  scene.table.note_unanswered("node-0003");
  CHECK(scene.node("node-0003").state == NodeState::doubted);
  scene.change("node-0004", [&](NodeReport& report) { report.received = scene.now - kSilentAfter; });
  CHECK(scene.node("node-0004").state == NodeState::silent);
  scene.change("node-0005", [&](NodeReport& report) { report.received = {}; });
  CHECK(scene.node("node-0005").state == NodeState::silent);
  CHECK_FALSE(scene.node("node-0005").silent_for);
  scene.change("node-0006", [&](NodeReport& report) { report.drained = true; });
  CHECK(scene.node("node-0006").state == NodeState::drained);
  scene.change("node-0004", [&](NodeReport& report) { report.drained = true; });
  CHECK(scene.node("node-0004").state == NodeState::silent);
  CHECK(scene.node("node-0004").is_drained);

  scene.table.remove("node-0007");  // of the trust record, and never described
  CHECK(scene.node("node-0007").state == NodeState::silent);
  CHECK(scene.node("node-0007").boot.empty());
  scene.homes["gone"] = 3;  // of no trust record
  CHECK(scene.node("gone").state == NodeState::removed);
  CHECK(scene.node("gone").homes == 3);
  NodeNumbers numbers;
  count_nodes(scene.sources(), scene.now, numbers);
  CHECK(numbers.nodes[size_t(NodeState::silent)] == 3);
  CHECK(numbers.nodes[size_t(NodeState::removed)] == 1);
}

TEST_CASE("a sign of life replaces load, slots and drain, and only of the same start", "[cluster]") {
  Scene scene;
  const std::string boot(32, 'b');
  scene.table.note_sign("node-0001", boot, {3, 1, 4, true}, scene.now);
  CHECK(scene.table.find("node-0001")->used == 3);
  CHECK(scene.table.find("node-0001")->slots == 4);
  CHECK(scene.table.find("node-0001")->drained);
  scene.table.note_sign("node-0001", boot, {5, 0, {}, {}}, scene.now);  // of an earlier program
  CHECK(scene.table.find("node-0001")->used == 5);
  CHECK(scene.table.find("node-0001")->slots == 4);
  CHECK(scene.table.find("node-0001")->drained);
  scene.table.note_sign("node-0001", "other", {9, 9, 9, false}, scene.now);
  CHECK(scene.table.find("node-0001")->used == 5);
}

TEST_CASE("homes come in pages, of one account or of one node", "[cluster]") {
  std::map<std::string, HomeRecord> records;
  for (size_t i = 0; i < 12'000; i++)
    records[tenant_key("acme", fmt::format("w{:05}", i))] = {i == 11'999 ? "n2" : "n1", 1 + i};
  records[tenant_key("acme.com", "")] = {"n2", 7};
  records[tenant_key("zeta", std::string(64, '.'))] = {"n2", 8};  // its key is a hash

  const auto all = [&](HomeQuestion question, size_t& pages) {
    std::vector<HomeView> homes;
    for (pages = 1;; pages++) {
      const Json message = homes_page(records, question);
      CHECK(dump_json(message).size() < kMaxLine - 100);
      const auto page = read_home_page(message);
      REQUIRE(page);
      for (const auto& home : page->homes) homes.push_back(home);
      question.after = page->next;
      if (page->next.empty()) return homes;
    }
  };
  size_t pages = 0;
  CHECK(all({}, pages).size() == records.size());
  CHECK(all({"acme", "", ""}, pages).size() == 12'000);
  const auto item = all({"acme", "n2", ""}, pages);
  REQUIRE(item.size() == 1);
  CHECK(item[0].workspace == "w11999");
  CHECK(item[0].epoch == 12'000);
  CHECK(pages == 2);  // kMaxLooked records each
  const auto other = all({"acme.com", "", ""}, pages);
  REQUIRE(other.size() == 1);
  CHECK(other[0].account == "acme.com");
  CHECK(other[0].workspace.empty());
  const auto hashed = all({"zeta", "", ""}, pages);
  REQUIRE(hashed.size() == 1);
  CHECK(hashed[0].account.empty());
  CHECK(hashed[0].node == "n2");
}

TEST_CASE("a name is read from its token, and nothing else is", "[cluster]") {
  for (const std::string name : {"", "acme", "a.b_c-D", "über", "_"}) CHECK(name_in_token(name_token(name)) == name);
  for (const char* token : {"_H0123", "_4", "_zz", "_61", "a_2", "_2e"}) CHECK_FALSE(name_in_token(token));
  CHECK_FALSE(name_in_token(name_token(std::string(64, '.'))));
}
