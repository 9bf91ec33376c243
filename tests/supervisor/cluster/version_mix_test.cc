// Nodes of different versions: what a newer one writes is read as far as this program knows it, and a node that speaks
// no version of this program gets no order.
#include <sys/socket.h>

#include <array>

#include "supervisor/base/json.h"
#include "supervisor/base/json_value.h"
#include "supervisor/cluster/node/carrier.h"
#include "supervisor/cluster/node/node_directory.h"
#include "tests/catch.h"
#include "tests/supervisor/cluster/bus_scene.h"
#include "tests/supervisor/cluster/trust_fixture.h"

namespace cluster {
namespace {

using trust_test::key_of;
using trust_test::node_of;
using trust_test::record_of;

TrustRecord two_nodes() { return record_of({node_of("n1", 1), node_of("n2", 2)}); }

Json description(int oldest, int newest) {
  return {{"boot", "b2"},          {"version", "9.0"},      {"slots", 4},      {"labels", Json::object()},
          {"wire_oldest", oldest}, {"wire_newest", newest}, {"a_new_key", {1}}};
}

}  // namespace

TEST_CASE("the description of a newer node is read, with its versions", "[cluster]") {
  const auto scene = BusScene::make();
  const auto bus = scene->connect("n1"), other = scene->connect("n2");
  const TrustRecord trust = two_nodes();
  NodeSettings settings;
  settings.node = "n1";
  NodeDirectory nodes(scene->loop, *bus, settings, "b1", trust);
  nodes.begin();
  const auto bucket = *scene->run(other->open_bucket("nodes", {}, std::chrono::seconds(5)));
  REQUIRE(scene->run(bucket->put("n2", dump_json(description(2, 3)))));
  scene->until([&] { return nodes.boot_of("n2") == "b2"; }, "the description");
  CHECK(nodes.wire_of("n2").oldest == 2);
  CHECK_FALSE(kWire.overlaps(nodes.wire_of("n2")));
  REQUIRE(scene->run(bucket->put("n2", dump_json(description(1, 3)))));
  scene->until([&] { return nodes.wire_of("n2").oldest == 1; }, "the second description");
  CHECK(kWire.overlaps(nodes.wire_of("n2")));
  REQUIRE(scene->run(bucket->put("n2", "no JSON")));  // it is logged, and the last one stays
  CHECK(nodes.wire_of("unknown").oldest == kWire.oldest);
}

TEST_CASE("a node that speaks other versions only gets no order, and the reason is told", "[cluster]") {
  const auto scene = BusScene::make();
  const auto bus = scene->connect("n1"), other = scene->connect("n2");
  const auto orders = *other->subscribe("w1.node.n2");
  Carrier carrier(scene->loop, *bus, {"n1", "b1", key_of(1), two_nodes(), "/nowhere"});
  std::array<int, 2> ends{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) == 0);
  const Fd warderd(ends[0]);
  auto local = AsyncFd::adopt(scene->loop, Fd(ends[1]));
  REQUIRE(local);
  Scope tasks(scene->loop);
  tasks.spawn(carrier.carry(*std::move(local), {"n2", "b2", {2, 3}}, {"n1", "uid:1", "acme", "p", "h"}));
  std::string line(1000, ' ');
  ssize_t got = -1;
  scene->until([&] { return (got = ::recv(warderd.get(), line.data(), line.size(), MSG_DONTWAIT)) > 0; }, "an answer");
  line.resize(static_cast<size_t>(got));
  CHECK(line.starts_with("{\"refused\":"));
  CHECK(line.find("it speaks versions 2 to 3 of the protocol between nodes, this node 1 to 1") != std::string::npos);
  CHECK(line.find("install the same version") != std::string::npos);
  CHECK(orders->dropped() == 0);
}

}  // namespace cluster
