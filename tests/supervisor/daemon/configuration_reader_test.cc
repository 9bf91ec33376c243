// read_policies(): changed policy files are read beside the loop, and the policies in use do not change.
#include "supervisor/daemon/policy_reader.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

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
  Result<policies::Store> read_again() { return await(loop, read_policies(*thread, *store)); }

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
  REQUIRE(same);
  CHECK(same->standard() != before);
  CHECK(same->standard()->filter == before->filter);

  scene.write("seccomp/default.json", PolicyScene::profile("write"));
  const auto changed = scene.read_again();
  REQUIRE(changed);
  CHECK(changed->standard()->filter != before->filter);
  CHECK(scene.store->standard() == before);
}

TEST_CASE("a policy file with mistakes is reported, and the policies in use stay", "[policies]") {
  PolicyScene scene;
  const auto before = scene.store->standard();
  scene.write("default.json", "{");
  const auto failed = scene.read_again();
  REQUIRE_FALSE(failed);
  CHECK(failed.error().code == Code::invalid);
  CHECK(scene.store->standard() == before);
}
