// A warderd without annexes: what it says of itself, and which keys are problems of its configuration.
#include "supervisor/daemon/absent_annexes.h"

#include "supervisor/annexes.h"
#include "tests/catch.h"

using Catch::Matchers::Contains;

TEST_CASE("a warderd without annexes names them", "[annexes]") {
  REQUIRE(annex_parts().empty());
  for (const std::string& name : absent_annexes()) {
    CHECK(is_annex_absent(name));
    CHECK_THAT(absent_annexes_text(), Contains(name));
  }
  CHECK_FALSE(is_annex_absent("journal"));
  const auto finding = judge_annexes();
  REQUIRE(finding);
  CHECK(finding->health == doctor::Health::note);
  CHECK_THAT(finding->found, Contains("cluster") && Contains("egress"));
}

TEST_CASE("a configuration without keys of annexes has no problem", "[annexes]") {
  configuration::LoadedConfiguration loaded;
  loaded.options.servers.push_back({.name = "wiki"});
  note_absent_annexes(loaded);
  CHECK(loaded.good());
}

TEST_CASE("each key of an absent annex is a problem with its path and a remedy", "[annexes]") {
  configuration::LoadedConfiguration loaded;
  loaded.options.cluster.socket = "/run/warder-node/node.sock";
  loaded.options.traces = spans::parse_collector("http://127.0.0.1:4318").value();
  loaded.options.servers.push_back({.name = "wiki", .oauth = oauth::OAuthSettings()});
  loaded.options.servers.push_back({.name = "web"});
  loaded.options.servers.back().egress.rules.push_back({.host = "pypi.org", .ports = {443}});
  note_absent_annexes(loaded);
  REQUIRE(loaded.notes.problems.size() == 4);
  const char* paths[] = {"cluster: ", "traces: ", "servers.wiki.oauth: ", "servers.web.egress: "};
  for (size_t i = 0; i < 4; i++) {
    CHECK(loaded.notes.problems[i].starts_with(paths[i]));
    CHECK_THAT(loaded.notes.problems[i], Contains("remove the key"));
  }
}
