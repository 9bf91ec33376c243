#include "supervisor/tenants/index/changes.h"

#include "tests/supervisor/tenants/scene.h"

namespace fs = std::filesystem;
using namespace tenants;
using Paths = std::vector<std::string>;

namespace {

Snapshot snapshot(Scene& scene, uint64_t max_entries = kSnapshotEntries) {
  return wait_for(scene.loop, take_snapshot(scene.loop, scene->directory(), max_entries)).value();
}

}  // namespace

TEST_CASE("created, modified and deleted files are told apart", "[changes]") {
  Scene scene;
  fs::create_directories(scene.inside / "d");
  for (const char* name : {"same", "gone", "grown", "rewritten", "replaced", "d/chmod"})
    Scene::put(scene.inside / name, "old");
  fs::create_symlink("same", scene.inside / "link");
  Snapshot before = snapshot(scene);
  next_file_time();
  fs::remove(scene.inside / "gone");
  Scene::put(scene.inside / "grown", "longer than before");
  auto old_time = fs::last_write_time(scene.inside / "rewritten");
  Scene::put(scene.inside / "rewritten", "new");
  fs::last_write_time(scene.inside / "rewritten", old_time);  // a jail may lie about mtime, not about ctime
  Scene::put(scene.inside / "temporary", "old");
  fs::rename(scene.inside / "temporary", scene.inside / "replaced");
  fs::permissions(scene.inside / "d/chmod", fs::perms::owner_all);
  fs::remove(scene.inside / "link");
  fs::create_symlink("/etc/passwd", scene.inside / "link");
  fs::create_directories(scene.inside / "empty");
  Scene::put(scene.inside / "d/new", "");
  Changes changes = compare(before, snapshot(scene));
  CHECK(changes.complete);
  CHECK(changes.created.paths == Paths{"d/new"});
  CHECK(changes.modified.paths == Paths{"d/chmod", "grown", "link", "replaced", "rewritten"});
  CHECK(changes.deleted.paths == Paths{"gone"});
}

TEST_CASE("nothing changed, nothing is said", "[changes]") {
  Scene scene;
  Scene::put(scene.inside / "a", "x");
  Snapshot before = snapshot(scene);
  CHECK(compare(before, snapshot(scene)).empty());
}

TEST_CASE("what an interpreter keeps for itself is no change", "[changes]") {
  Scene scene;
  Snapshot before = snapshot(scene);
  fs::create_directories(scene.inside / "skills/__pycache__");
  fs::create_directories(scene.inside / "__pycache__");
  Scene::put(scene.inside / "skills/__pycache__/a.cpython-311.pyc", "x");
  Scene::put(scene.inside / "__pycache__/b.cpython-311.pyc", "x");
  Scene::put(scene.inside / "not__pycache__", "x");
  CHECK(compare(before, snapshot(scene)).created.paths == Paths{"not__pycache__"});
}

TEST_CASE("long lists are cut and the rest is counted", "[changes]") {
  Scene scene;
  Snapshot before = snapshot(scene);
  for (int i = 0; i < 10; i++) Scene::put(scene.inside / std::to_string(i), "x");
  Changes changes = compare(before, snapshot(scene), 4);
  CHECK(changes.created.paths == Paths{"0", "1", "2", "3"});
  CHECK(changes.created.omitted == 6);
}

TEST_CASE("names that are not UTF-8 are shown with replacements", "[changes]") {
  Scene scene;
  Snapshot before = snapshot(scene);
  Scene::put(scene.inside / "a\xFF", "x");
  CHECK(compare(before, snapshot(scene)).created.paths == Paths{"a\xEF\xBF\xBD"});
}

TEST_CASE("beyond the bound the times still tell what was written", "[changes]") {
  Scene scene;
  for (int i = 0; i < 30; i++) Scene::put(scene.inside / ("old" + std::to_string(i)), "x");
  next_file_time();
  Snapshot before = snapshot(scene, 10);
  CHECK_FALSE(before.complete);
  CHECK(before.files.size() == 10);
  next_file_time();
  Scene::put(scene.inside / "old7", "changed");
  fs::remove(scene.inside / "old8");
  Changes changes = compare(before, snapshot(scene, 1000));
  CHECK_FALSE(changes.complete);
  CHECK(changes.modified.paths == Paths{"old7"});
  CHECK(changes.created.paths == Paths{});
  CHECK(changes.deleted.paths.empty());  // not known, so not claimed
}

TEST_CASE("a snapshot lets other work of the loop run", "[changes]") {
  Scene scene;
  for (int i = 0; i < 1000; i++) Scene::put(scene.inside / std::to_string(i), "");
  auto taking = start(take_snapshot(scene.loop, scene->directory(), kSnapshotEntries));
  CHECK_FALSE(taking.done());
  int turns = 0;
  scene.loop.run_until([&] { return turns++, taking.done(); });
  CHECK(turns >= 5);
}

TEST_CASE("a cancelled snapshot leaves nothing behind", "[changes]") {
  Scene scene;
  for (int i = 0; i < 1000; i++) Scene::put(scene.inside / std::to_string(i), "");
  {
    auto taking = start(take_snapshot(scene.loop, scene->directory(), kSnapshotEntries));
    REQUIRE_FALSE(taking.done());
  }
  scene.loop.run();  // the turn it waited for comes and finds nobody
}
