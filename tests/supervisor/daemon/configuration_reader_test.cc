// read_configuration(): changed files are read beside the loop, and the policies in use do not change.
#include "supervisor/daemon/configuration_reader.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "policies/policy.h"
#include "tests/catch.h"
#include "tests/jail/await.h"
#include "tests/temp_directory.h"

namespace {

namespace fs = std::filesystem;

struct PolicyScene {
  PolicyScene() {
    fs::create_directories(folder / "seccomp");
    write("default.json", std::ifstream(WARDER_SOURCE_DIR "/policies/default.json"));
    write("seccomp/default.json", profile("read"));
    auto started = WorkerThread::start(loop);
    REQUIRE(started);
    thread = *std::move(started);
    auto loaded = policies::Store::load({folder.string()}, policies::Mode::checkout, policies::HostCapacity{4});
    if (!loaded) FAIL(loaded.error().what);
    store.emplace(*std::move(loaded));
  }
  static std::string profile(const std::string& call) {
    return R"({"comment": "c", "newest": "set_mempolicy_home_node", "allow": [{"comment": "c", "calls": [")" + call +
           R"("]}]})";
  }
  void write(const std::string& file, std::ifstream from) const {
    write(file, std::string(std::istreambuf_iterator<char>(from), {}));
  }
  void write(const std::string& file, const std::string& text) const {
    std::ofstream(folder / file) << text;
    REQUIRE(::chmod((folder / file).c_str(), 0600) == 0);
  }
  configuration::LoadedConfiguration read_again() {
    Flags flags;
    flags.policies = folder;
    std::ofstream(folder / "warderd.conf") << "{}";
    flags.config = folder / "warderd.conf";
    const auto invocation = configuration::invocation_of(std::move(flags));
    auto read = await(loop, read_configuration(*thread, invocation, *store, folder, {}));
    REQUIRE(read);
    return std::move((*read)->loaded);
  }

  TempDirectory temp;
  fs::path folder = temp.path();
  Loop loop;
  std::unique_ptr<WorkerThread> thread;
  std::optional<policies::Store> store;
};

}  // namespace

TEST_CASE("policies are read again on the thread, and only changed profiles are compiled", "[policies]") {
  PolicyScene scene;
  const auto before = scene.store->standard();
  const auto same = scene.read_again();
  REQUIRE(same.policies);
  CHECK(same.policies->standard() != before);
  CHECK(same.policies->standard()->filter == before->filter);

  scene.write("seccomp/default.json", PolicyScene::profile("write"));
  const auto changed = scene.read_again();
  REQUIRE(changed.policies);
  CHECK(changed.policies->standard()->filter != before->filter);
  CHECK(scene.store->standard() == before);
}

TEST_CASE("a policy file with mistakes is reported, and the policies in use stay", "[policies]") {
  PolicyScene scene;
  const auto before = scene.store->standard();
  scene.write("default.json", "{");
  const auto failed = scene.read_again();
  CHECK_FALSE(failed.policies);
  CHECK_FALSE(failed.good());
  CHECK(scene.store->standard() == before);
}
