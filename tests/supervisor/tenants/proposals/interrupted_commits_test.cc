// What a daemon does at its start with commits that an earlier one left in the middle.
#include "supervisor/tenants/proposals/interrupted_commits.h"

#include "tests/supervisor/tenants/proposals/staged_scene.h"

namespace fs = std::filesystem;
using namespace proposals;

namespace {

// Several tenants' folders below one.
struct Tenants {
  TempDirectory temp;
  fs::path at(const std::string& path) const { return temp.path() / path; }

  // Moves the folders of a scene to where a tenant or named workspace has them.
  void take(const StagedScene& scene, const std::string& path) const {
    fs::create_directories(at(path));
    fs::rename(scene.workspace, at(path) / "workspace");
    fs::rename(scene.staging, at(path) / "staging");
  }
  InterruptedCommits complete() const {
    const Fd folder = open_directory(temp.path().string()).value();
    auto match = complete_interrupted_commits(folder.get());
    REQUIRE(match);
    return *std::move(match);
  }
};

struct ThreeFiles : StagedScene {
  bool is_possible;
  std::string before;

  ThreeFiles() {
    for (const char* name : {"a", "b", "c"}) put(workspace / name, "old");
    before = picture(workspace);
    is_possible = run([] {
      for (const char* name : {"a", "b", "c"}) put(name, std::string("new ") + name);
    });
    if (is_possible) settle();
  }
  bool is_mixed() const { return picture(workspace) != before && picture(workspace) != merged; }
  void kill_while_mixed(const std::function<bool(const CommitHooks&)>& work) {
    REQUIRE(run_killed_when([this] { return is_mixed(); }, work) == Ended::killed);
    REQUIRE(is_mixed());
  }
  void kill_commit() {
    kill_while_mixed([this](const CommitHooks& hooks) { return open().commit({}, hooks).has_value(); });
  }
};

}  // namespace

TEST_CASE("every workspace that a killed daemon left between two states is completed", "[staging][kill]") {
  const Tenants tenants;
  ThreeFiles committed, undone, full, removed;
  if (!committed.is_possible) return;
  committed.kill_commit();
  tenants.take(committed, "alice");
  REQUIRE(undone.commit().is_committed);
  undone.kill_while_mixed([&](const CommitHooks& hooks) { return undone.open().undo(hooks).has_value(); });
  tenants.take(undone, "alice/workspaces/work");
  REQUIRE(full.commit().is_committed);
  const std::string before = picture(full.staging, WithTimes::yes);
  tenants.take(full, "bob");
  removed.kill_commit();
  const std::string mixed = picture(removed.workspace);
  tenants.take(removed, ".removed");  // no tenant's name

  CHECK(tenants.complete().completed == 2);
  CHECK(picture(tenants.at("alice/workspace")) == committed.merged);
  CHECK(picture(tenants.at("alice/workspaces/work/workspace")) == undone.before);
  CHECK(picture(tenants.at("bob/staging"), WithTimes::yes) == before);
  CHECK(picture(tenants.at(".removed/workspace")) == mixed);
  CHECK(tenants.complete().completed == 0);
}

TEST_CASE("damaged records and strange folders stop no completion", "[staging][kill][hostile]") {
  const Tenants tenants;
  ThreeFiles damaged, other, good;
  if (!damaged.is_possible) return;
  damaged.kill_commit();
  put(damaged.folder() / "proposal", "");  // the disk lost it when the machine stopped; the journal was synced
  tenants.take(damaged, "a");
  put(other.folder() / "journal.1", "warder-commit-1 1 0\ngarbage");
  tenants.take(other, "b");
  good.kill_commit();
  tenants.take(good, "c");
  put(tenants.at("d"), "a file");
  fs::create_directories(tenants.at("e/workspaces"));
  fs::create_symlink(tenants.at("c/staging"), tenants.at("e/staging"));
  fs::create_directories(tenants.at("e/workspace"));
  put(tenants.at("e/workspaces/w"), "a file");

  const InterruptedCommits commits = tenants.complete();
  CHECK(commits.completed == 1);
  CHECK(picture(tenants.at("a/workspace")) == damaged.merged);  // though the proposal can only be discarded
  CHECK(picture(tenants.at("b/workspace")) == other.before);
  CHECK(picture(tenants.at("c/workspace")) == good.merged);
  CHECK(fs::is_empty(tenants.at("e/workspace")));
}

TEST_CASE("a daemon that ends while it completes leaves the rest to the next one", "[staging][kill]") {
  const Tenants tenants;
  ThreeFiles scene;
  if (!scene.is_possible) return;
  scene.kill_commit();
  tenants.take(scene, "a");
  const Fd folder = open_directory(tenants.temp.path().string()).value();
  CommitHooks hooks;
  hooks.must_stop = [] { return true; };
  const auto stopped = complete_interrupted_commits(folder.get(), hooks);
  REQUIRE(stopped);
  REQUIRE(stopped->failed.size() == 1);
  CHECK(stopped->failed[0].what.find("tenant a: ") == 0);
  CHECK(tenants.complete().completed == 1);
  CHECK(picture(tenants.at("a/workspace")) == scene.merged);
}
