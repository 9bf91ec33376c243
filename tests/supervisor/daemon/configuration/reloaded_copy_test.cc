// The last good copy after a reload by another process: stored only if it is what the daemon runs.
#include "supervisor/daemon/configuration/reloaded_copy.h"

#include "tests/supervisor/daemon/configuration/scene.h"

using namespace configuration;

namespace {

struct ReloadScene : ConfigurationScene {
  ReloadScene() {
    write("warderd.json", "{}");
    daemons = files_of(invocation, load().options);
  }
  FilesInForce daemons;
  bool is_stored() const { return load_last_good(path("state"), invocation).has_value(); }
};

}  // namespace

TEST_CASE("the files of a daemon are those of its flags, or of its configuration", "[configuration]") {
  const ReloadScene scene;
  CHECK(scene.daemons == FilesInForce{scene.path("warderd.json"), scene.path("state"), {scene.path("policies")}});
  Flags flags;
  flags.config = scene.path("warderd.json");
  scene.write("warderd.json",
              R"({"state": ")" + scene.path("state") + R"(", "policies": [")" + scene.path("policies") + R"("]})");
  const Invocation other = invocation_of(flags);
  CHECK(files_of(other, load(other).options) == scene.daemons);
}

TEST_CASE("a copy is stored if the daemon has the same files", "[configuration]") {
  const ReloadScene scene;
  const auto copy = ReloadedCopy::read(scene.invocation);
  CHECK_FALSE(scene.is_stored());
  const auto saved = copy.keep(scene.daemons);
  if (!saved) FAIL(saved.error().what);
  CHECK(scene.is_stored());
}

TEST_CASE("no copy is stored of files that the daemon does not read", "[configuration]") {
  const ReloadScene scene;
  const auto copy = ReloadedCopy::read(scene.invocation);
  FilesInForce daemons = scene.daemons;
  std::string names;
  SECTION("another configuration") { daemons.main = names = "/etc/other.json"; }
  SECTION("another state folder") { daemons.state = names = "/var/lib/other"; }
  SECTION("one more folder of policies") {
    daemons.policies.push_back("/etc/other");
    names = scene.path("policies") + ":/etc/other";
  }
  const auto saved = copy.keep(daemons);
  REQUIRE_FALSE(saved);
  CHECK(saved.error().code == Code::invalid);
  CHECK(saved.error().what.find(names) != std::string::npos);
  CHECK(saved.error().hint.find("systemctl reload warder") != std::string::npos);
  CHECK_FALSE(scene.is_stored());
}

TEST_CASE("no copy is stored for a daemon that does not tell its files", "[configuration]") {
  const ReloadScene scene;
  const auto saved = ReloadedCopy::read(scene.invocation).keep(std::nullopt);
  REQUIRE_FALSE(saved);
  CHECK(saved.error().code == Code::invalid);
  CHECK_FALSE(scene.is_stored());
}

TEST_CASE("no copy is stored of a file that was changed during the reload", "[configuration]") {
  const ReloadScene scene;
  const auto copy = ReloadedCopy::read(scene.invocation);
  SECTION("the configuration") { scene.write("warderd.json.d/10.json", R"({"log_level": "debug"})"); }
  SECTION("a policy") { scene.write("policies/second.json", R"({"extends": "default"})"); }
  const auto saved = copy.keep(scene.daemons);
  REQUIRE_FALSE(saved);
  CHECK(saved.error().code == Code::unavailable);
  CHECK_FALSE(scene.is_stored());
}

TEST_CASE("what the daemon says is printed without its escapes", "[configuration]") {
  const auto refused = expect_main_file("/etc/warder/warderd.json", "/x\x1b[2J");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().what.find('\x1b') == std::string::npos);
  CHECK(refused.error().hint.find('\x1b') == std::string::npos);
}
