// The last good copy: stored whole, refused if another user could have written it, and loaded as it was.
#include "supervisor/daemon/configuration/last_good.h"

#include <unistd.h>

#include "policies/policy.h"
#include "tests/supervisor/daemon/configuration/scene.h"

using namespace configuration;

namespace {

void keep(const ConfigurationScene& scene) {
  const auto loaded = scene.load();
  REQUIRE(loaded.good());
  const auto copy = copy_of(loaded.document, loaded.options.policies);
  REQUIRE(copy);
  const auto saved = keep_last_good(scene.path("state"), *copy);
  if (!saved) FAIL(saved.error().what);
}

ino_t inode_of(const std::string& path) {
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_ino;
}

}  // namespace

TEST_CASE("the last good copy holds configuration and policies of its time", "[configuration]") {
  ConfigurationScene scene;
  scene.write("warderd.json", R"({"log_level": "debug"})");
  scene.write("policies/own.json", R"({"extends": "default", "languages": ["shell"]})");
  CHECK(load_last_good(scene.path("state"), scene.invocation).error().code == Code::not_found);
  keep(scene);
  scene.write("warderd.json", "{");
  scene.write("policies/own.json", "{");
  scene.write("policies/later.json", "{");
  const auto copy = load_last_good(scene.path("state"), scene.invocation);
  REQUIRE(copy);
  CHECK(copy->good());
  CHECK(copy->options.log_level == LogLevel::debug);
  CHECK(copy->options.policies == std::vector<std::string>{scene.path("policies")});
  REQUIRE(copy->policies);
  CHECK(copy->policies->names() == std::vector<std::string>{"default", "own"});
  CHECK(copy->policies->find("own")->languages == std::vector<std::string>{"shell"});
}

TEST_CASE("a copy is replaced as a whole, and not written again if nothing changed", "[configuration]") {
  ConfigurationScene scene;
  scene.write("warderd.json", "{}");
  scene.write("policies/own.json", R"({"extends": "default"})");
  keep(scene);
  const std::string folder = scene.path("state/last-good");
  const ino_t first = inode_of(folder);
  keep(scene);
  CHECK(inode_of(folder) == first);
  std::filesystem::remove(scene.folder / "policies/own.json");
  keep(scene);
  CHECK(inode_of(folder) != first);
  CHECK_FALSE(std::filesystem::exists(folder + "/policies/0/own.json"));
  CHECK_FALSE(std::filesystem::exists(scene.path("state/last-good.new")));
  struct stat status {};
  REQUIRE(::stat(folder.c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0700);
}

TEST_CASE("what an interrupted start has left does not matter", "[configuration]") {
  ConfigurationScene scene;
  scene.write("warderd.json", "{}");
  std::filesystem::create_directories(scene.folder / "state/last-good.new/policies/0");
  scene.write("state/last-good.new/configuration.json", "{");
  keep(scene);
  CHECK(load_last_good(scene.path("state"), scene.invocation));
}

TEST_CASE("a copy that another user could have written is not used", "[configuration]") {
  ConfigurationScene scene;
  scene.write("warderd.json", "{}");
  keep(scene);
  const std::string folder = scene.path("state/last-good");
  REQUIRE(::chmod(folder.c_str(), 0770) == 0);
  CHECK(load_last_good(scene.path("state"), scene.invocation).error().code == Code::denied);
  REQUIRE(::chmod(folder.c_str(), 0700) == 0);
  CHECK(load_last_good(scene.path("state"), scene.invocation));
  if (::geteuid() == 0) {
    REQUIRE(::chown(folder.c_str(), 65534, 65534) == 0);
    CHECK(load_last_good(scene.path("state"), scene.invocation).error().code == Code::denied);
  }
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory_symlink(scene.folder / "policies", folder);
  CHECK_FALSE(load_last_good(scene.path("state"), scene.invocation));
}

TEST_CASE("a copy that is damaged has problems or an error, never a part of it", "[configuration]") {
  ConfigurationScene scene;
  scene.write("warderd.json", "{}");
  keep(scene);
  const std::string text = GENERATE(as<std::string>(), "", "{", "[]", "{}", R"({"format": 2})",
                                    R"({"format": 1, "configuration": {}, "policies": "x"})",
                                    R"({"format": 1, "configuration": {}, "policies": [7]})",
                                    R"({"format": 1, "configuration": {"sokcet": 1}, "policies": ["/x"]})",
                                    R"({"format": 1, "configuration": {}, "policies": []})");
  CAPTURE(text);
  scene.write("state/last-good/configuration.json", text);
  const auto copy = load_last_good(scene.path("state"), scene.invocation);
  CHECK((!copy || !copy->good()));
}
