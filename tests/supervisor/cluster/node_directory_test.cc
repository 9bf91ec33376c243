// NodeDirectory: the description of a newer node is read as far as this program knows it.
#include "supervisor/cluster/node/node_directory.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "tests/catch.h"
#include "tests/supervisor/cluster/bus_scene.h"
#include "tests/supervisor/cluster/trust_fixture.h"

namespace cluster {
namespace {

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

}  // namespace cluster
