// A warderd without annexes: what it says of itself, and which configurations it refuses.
#include "supervisor/daemon/absent_annexes.h"

#include "supervisor/annexes.h"
#include "tests/catch.h"

using Catch::Matchers::Contains;

TEST_CASE("a warderd without annexes names them", "[annexes]") {
  REQUIRE(annex_parts().empty());
  for (const std::string& name : absent_annexes()) CHECK_THAT(absent_annexes_text(), Contains(name));
  const auto finding = judge_annexes();
  REQUIRE(finding);
  CHECK(finding->health == doctor::Health::note);
  CHECK_THAT(finding->found, Contains("cluster") && Contains("egress"));
}

TEST_CASE("a configuration without keys of annexes is good", "[annexes]") { CHECK(check_annexes(Options())); }

TEST_CASE("the key of an absent annex is refused, with its name and a remedy", "[annexes]") {
  Options options;
  options.cluster.socket = "/run/warder-node/node.sock";
  const auto cluster = check_annexes(options);
  REQUIRE_FALSE(cluster);
  CHECK(cluster.error().code == Code::invalid);
  CHECK(cluster.error().rule == "cluster");
  CHECK_THAT(cluster.error().hint, Contains("remove the key"));
  options.cluster.socket.clear();
  options.traces = spans::parse_collector("http://127.0.0.1:4318").value();
  const auto traces = check_annexes(options);
  REQUIRE_FALSE(traces);
  CHECK(traces.error().rule == "traces");
}
