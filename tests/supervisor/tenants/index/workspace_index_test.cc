// A workspace that an index follows: the same answers as by walking, whoever asks, and whatever the index cannot do.
#include "supervisor/tenants/index/workspace_index.h"

#include <fcntl.h>
#include <unistd.h>

#include "tests/supervisor/tenants/scene.h"

namespace fs = std::filesystem;
using tenants::WorkspaceBefore;
using tenants::WorkspaceChanges;

namespace {

struct Followed : Scene {
  std::unique_ptr<tenants::IndexHost> host = tenants::IndexHost::start(loop).value();

  explicit Followed(tenants::QuotaLimits limits = {1 << 20, 1000}) : Scene(limits) { workspace->follow(*host); }
  ~Followed() {
    workspace.reset();
    loop.run_until([] { return true; });
  }
  WorkspaceBefore before() { return wait_for(loop, workspace->before()).value(); }
  WorkspaceChanges since(WorkspaceBefore before) {
    return wait_for(loop, workspace->changes_since(std::move(before))).value();
  }
};

}  // namespace

TEST_CASE("an index tells each change, and a workspace of many files costs no walk", "[index]") {
  Followed s({1 << 20, 100'000});
  for (int folder = 0; folder < 20; folder++) {
    fs::create_directories(s.inside / std::to_string(folder));
    for (int file = 0; file < 500; file++) Scene::put(s.inside / std::to_string(folder) / std::to_string(file), "x");
  }
  WorkspaceBefore before = s.before();
  REQUIRE(before.log);
  for (int i = 0; i < 10; i++) Scene::put(s.inside / "19" / ("new " + std::to_string(i)), "xy");
  fs::remove(s.inside / "3/4");
  Scene::put(s.inside / "5/6", "longer");
  fs::create_directories(s.inside / "7/__pycache__");
  Scene::put(s.inside / "7/__pycache__/m.cpython-311.pyc", "x");
  const WorkspaceChanges changes = s.since(std::move(before));
  CHECK(changes.changes.created.paths.size() == 10);
  CHECK(changes.changes.deleted.paths == std::vector<std::string>{"3/4"});
  CHECK(changes.changes.modified.paths == std::vector<std::string>{"5/6"});
  CHECK(changes.changes.complete);
  CHECK(changes.meanwhile.empty());
  CHECK_FALSE(changes.is_mixed);
  CHECK(changes.walked.empty());
  CHECK(changes.readable_bytes == 20 * 500 - 1 + 20 + 5 + 1);
  REQUIRE(changes.largest.size() == 4);
  CHECK(changes.largest[0] == std::pair<uint64_t, std::string>(6, "5/6"));
  CHECK(s->quota().usage().files == 20 * 500 - 1 + 10 + 20 + 2);
  CHECK(s.measure().files == s->quota().usage().files);
  CHECK(s.host->totals().indexes == 1);
  CHECK(s.host->totals().watches == 22);
}

TEST_CASE("two writers: each knows what was certainly its own", "[index]") {
  Followed s;
  WorkspaceBefore first = s.before();
  Scene::put(s.inside / "first alone", "x");
  WorkspaceBefore second = s.before();
  Scene::put(s.inside / "of one of them", "x");
  const WorkspaceChanges of_first = s.since(std::move(first));
  Scene::put(s.inside / "second alone", "x");
  const WorkspaceChanges of_second = s.since(std::move(second));
  CHECK(of_first.changes.created.paths == std::vector<std::string>{"first alone"});
  CHECK(of_first.meanwhile.created.paths == std::vector<std::string>{"of one of them"});
  CHECK(of_second.changes.created.paths == std::vector<std::string>{"second alone"});
  CHECK(of_second.meanwhile.created.paths == std::vector<std::string>{"of one of them"});
}

TEST_CASE("without an index a workspace walks, and gets an index when it can", "[index]") {
  Followed s;
  std::vector<std::unique_ptr<Scene>> scenes;
  WorkspaceBefore before = s.before();
  // Other workspaces take the places of all that are not in use; this one is.
  for (uint64_t i = 0; i < s.host->shares()->instances() + 3; i++) {
    scenes.push_back(std::make_unique<Scene>());
    scenes.back()->workspace.emplace(s.loop, open_directory(scenes.back()->inside.string()).value(),
                                     open_directory(scenes.back()->unfinished.string()).value(),
                                     tenants::QuotaLimits{1 << 20, 1000});
    scenes.back()->workspace->follow(*s.host);
  }
  CHECK(s.host->totals().indexes == s.host->shares()->instances());
  Scene::put(s.inside / "new", "x");
  CHECK(s.since(std::move(before)).changes.created.paths == std::vector<std::string>{"new"});
  CHECK(s->is_indexed());
  Scene& evicted = *scenes.front();
  CHECK_FALSE(evicted.workspace->is_indexed());
  CHECK(wait_for(s.loop, evicted.workspace->before()).value().log);
  for (auto& other : scenes) other->workspace.reset();
}

TEST_CASE("an index that is lost during an execution leaves what the files' times prove", "[index]") {
  Followed s({1 << 20, 100});
  Scene::put(s.inside / "old", "x");
  next_file_time();
  WorkspaceBefore before = s.before();
  REQUIRE(before.log);
  for (int i = 0; i < 250; i++) Scene::put(s.inside / std::to_string(i), "x");
  const WorkspaceChanges changes = s.since(std::move(before));
  CHECK_FALSE(s->is_indexed());
  CHECK(s->index()->unusable() == "it contains more than 200 files");
  CHECK_FALSE(changes.changes.complete);
  CHECK(changes.changes.created.paths.size() + changes.changes.created.omitted == 250);
  CHECK(changes.changes.modified.paths.empty());
  CHECK(changes.meanwhile.empty());
}

TEST_CASE("a workspace that closes while it is looked at", "[index]") {
  Followed s({1 << 20, 100'000});
  for (int i = 0; i < 5000; i++) Scene::put(s.inside / std::to_string(i), "x");
  {
    auto request = start(s->before());
    s.loop.run_until([] { return true; });
    CHECK_FALSE(request.done());
  }
  s.workspace.reset();
  CHECK(s.host->totals().indexes == 0);
  s.loop.run_until([&] { return s.host->shares()->claimed() == 0; });
}

TEST_CASE("a workspace that outlives the indexes of the daemon walks", "[index]") {
  Followed s;
  WorkspaceBefore before = s.before();
  Scene::put(s.inside / "new", "x");
  s.host.reset();
  CHECK_FALSE(s->is_indexed());
  CHECK(s.since(std::move(before)).changes.created.paths == std::vector<std::string>{"new"});
  CHECK(s.measure().files == 1);
}
