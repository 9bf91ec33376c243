// The trial of a start, with the facts of a unit that this machine does not have.
#include "supervisor/daemon/configuration/trial.h"

#include "supervisor/daemon/configuration/reload_exchange.h"
#include "supervisor/daemon/configuration/unit_sandbox.h"
#include "tests/supervisor/daemon/configuration/scene.h"

using namespace configuration;

namespace {

LoadedConfiguration tried(ConfigurationScene& scene, const std::string& text, const StartView& view) {
  scene.write("warderd.json", text);
  LoadedConfiguration loaded = scene.load();
  try_start(loaded, scene.invocation, view);
  return loaded;
}

}  // namespace

TEST_CASE("a state folder that the unit may not write is a problem, and the default folder is tried", "[trial]") {
  ConfigurationScene scene;
  scene.invocation.flags.state.clear();
  StartView view;
  UnitPathSettings settings;
  settings.read_only = {scene.path(".")};
  settings.read_write = {scene.path("lib")};
  view.sandbox.paths = path_rules(settings);
  const auto inside = tried(scene, R"({"state": ")" + scene.path("lib/warder") + "\"}", view);
  CHECK(inside.notes.problems == std::vector<std::string>{});
  for (const std::string name : {"srv", "library"}) {
    const auto outside = tried(scene, R"({"state": ")" + scene.path(name) + "\"}", view);
    REQUIRE(outside.notes.problems.size() == 1);
    CHECK(outside.notes.problems[0].find("is read-only for the service") != std::string::npos);
    CHECK(outside.notes.problems[0].find("ReadWritePaths=" + scene.path(name)) != std::string::npos);
    CHECK(outside.options.state == default_options(scene.invocation).state);
  }
}

TEST_CASE("a folder that a drop-in closes to the unit is a problem with its remedy", "[trial]") {
  ConfigurationScene scene;
  scene.invocation.flags.state.clear();
  const auto problem_of = [&](const UnitPathSettings& settings, const std::string& folder) -> std::string {
    StartView view;
    view.sandbox.paths = path_rules(settings);
    const auto loaded = tried(scene, R"({"state": ")" + folder + "\"}", view);
    return loaded.notes.problems.empty() ? "" : loaded.notes.problems.front();
  };
  const std::string folder = scene.path("srv/warder");
  CHECK(problem_of({}, folder).empty());
  UnitPathSettings full;
  full.protect_system = "full";
  CHECK(problem_of(full, folder).empty());
  CHECK_THAT(
      problem_of(full, "/etc/warder-test/state"),
      Catch::Matchers::Contains("/etc is read-only for the service") && Catch::Matchers::Contains("ReadWritePaths="));
  CHECK_THAT(problem_of(full, "/etc"), Catch::Matchers::Contains("ProtectSystem= of the unit closes /etc"));
  UnitPathSettings read_only;
  read_only.read_only = {scene.path("srv")};
  CHECK_THAT(problem_of(read_only, folder), Catch::Matchers::Contains("ReadWritePaths=" + folder));
  read_only.read_only = {folder};
  CHECK_THAT(problem_of(read_only, folder), Catch::Matchers::Contains("out of ReadOnlyPaths="));
  UnitPathSettings hidden;
  hidden.inaccessible = {scene.path("srv")};
  hidden.read_write = {folder};
  CHECK_THAT(problem_of(hidden, folder),
             Catch::Matchers::Contains("is hidden from the service") &&
                 Catch::Matchers::Contains("InaccessiblePaths= of its unit hides " + scene.path("srv")));
}

TEST_CASE("an address in the network of the unit is a shortfall that names the socket unit", "[trial]") {
  ConfigurationScene scene;
  StartView view;
  view.sandbox.private_network = true;
  const std::string text = R"({"http": {"listen": ["127.0.0.1:9470"]}, "metrics": "127.0.0.1:9471"})";
  const auto loaded = tried(scene, text, view);
  CHECK(loaded.good());
  CHECK_FALSE(loaded.complete());
  REQUIRE(loaded.notes.shortfalls.size() == 2);
  CHECK(loaded.notes.shortfalls[0].key == "http.listen[0]");
  CHECK(loaded.notes.shortfalls[0].text.find("systemctl enable warder-http.socket") != std::string::npos);
  CHECK(loaded.notes.shortfalls[1].key == "metrics");
  view.listening.http_passed = view.listening.metrics_passed = true;
  const auto passed = tried(scene, text, view);
  CHECK(passed.complete());
  CHECK(passed.notes.warnings.size() == 2);
}

TEST_CASE("the sockets of a running daemon are read as they were written", "[trial]") {
  ConfigurationScene scene;
  std::filesystem::create_directories(scene.path("state/reload"));
  CHECK_FALSE(read_held_sockets(scene.path("state")));
  HeldSockets sockets;
  sockets.mcp_passed = sockets.metrics_passed = true;
  sockets.opened = {"127.0.0.1:9470", "/run/x.sock"};
  REQUIRE(write_held_sockets(scene.path("state"), sockets));
  const auto read = read_held_sockets(scene.path("state"));
  REQUIRE(read);
  CHECK((read->mcp_passed && read->metrics_passed && !read->http_passed && !read->node_passed));
  CHECK(read->opened == sockets.opened);
}
