// Commits and undos that are killed before every single step: the workspace is never a mix of old and new.
#include <random>

#include "tests/supervisor/tenants/proposals/staged_scene.h"

namespace fs = std::filesystem;
using namespace proposals;

namespace {

class RandomTree {
 public:
  explicit RandomTree(unsigned seed) : random_(seed) {}
  unsigned below(unsigned limit) { return std::uniform_int_distribution<unsigned>(0, limit - 1)(random_); }

  void make(const fs::path& root) {
    for (unsigned i = 0; i < 12; i++) {
      fs::path folder = root;
      for (unsigned depth = below(3); depth > 0; depth--) folder /= "d" + std::to_string(below(3));
      fs::create_directories(folder);
      put(folder / ("f" + std::to_string(i)), std::string(below(40), static_cast<char>('a' + i)));
    }
  }

  // In the current folder.
  void change(unsigned i) {
    std::error_code ignored;
    const std::string n = std::to_string(i);
    const fs::path file = some(false), folder = some(true);
    switch (below(14)) {
      case 0:
      case 1:
        return put((folder.empty() ? fs::path(".") : folder) / ("n" + n), std::string(below(60), 'n'));
      case 2:
      case 3:
        if (!file.empty()) std::ofstream(file, std::ios::app) << "more";
        return;
      case 4:
        if (!file.empty()) fs::remove(file, ignored);
        return;
      case 5:
        if (folder.empty()) return;
        fs::remove_all(folder, ignored);
        if (below(2) == 0) return;
        fs::create_directory(folder, ignored);
        return put(folder / "again", "x");
      case 6:
        if (!file.empty() && !folder.empty()) fs::rename(file, folder / ("m" + n), ignored);
        return;
      case 7:
        fs::create_directories("deep" + n + "/a/b", ignored);
        return put("deep" + n + "/a/b/c", "c");
      case 8:
        return fs::create_symlink("/etc/passwd", "ln" + n, ignored);
      case 9:
        if (!file.empty()) fs::permissions(file, fs::perms(0640), ignored);
        return;
      case 10:
        if (!folder.empty()) fs::permissions(folder, fs::perms(0711), ignored);
        return;
      case 11:
        if (folder.empty()) return;
        fs::remove_all(folder, ignored);
        return put(folder, "a file now");
      case 12:
        if (file.empty()) return;
        fs::remove(file, ignored);
        fs::create_directory(file, ignored);
        return put(file / "inside", "y");
      default:
        if (!file.empty()) fs::create_hard_link(file, "hard" + n, ignored);
    }
  }

 private:
  fs::path some(bool folder) {
    std::vector<fs::path> all;
    for (const auto& entry : fs::recursive_directory_iterator("."))
      if (fs::is_directory(entry.symlink_status()) == folder && !fs::is_symlink(entry.symlink_status()))
        all.push_back(entry.path());
    std::sort(all.begin(), all.end());  // the kernel's order differs from run to run
    return all.empty() ? fs::path() : all[below(static_cast<unsigned>(all.size()))];
  }
  std::mt19937 random_;
};

// A scene with a proposal, the same one for the same seed.
struct RandomScene : StagedScene {
  std::string before;
  bool is_possible = false;
  Proposal proposal;

  explicit RandomScene(unsigned seed) {
    RandomTree(seed).make(workspace);
    before = picture(workspace, WithTimes::yes);
    is_possible = run([seed] {
      RandomTree tree(seed + 1000);
      const unsigned changes = 3 + tree.below(20);
      for (unsigned i = 0; i < changes; i++) tree.change(i);
    });
    if (is_possible) proposal = settle();
  }
};

Proposal loaded(StagedScene& scene) {
  auto proposal = scene.open().load();
  INFO((proposal ? "" : proposal.error().what));
  REQUIRE(proposal);
  REQUIRE(*proposal);
  return **std::move(proposal);
}

}  // namespace

TEST_CASE("a commit that is killed before any step is completed or did not begin; an undo, too", "[staging][kill]") {
  unsigned kills = 0, completed = 0, not_started = 0;
  for (unsigned seed = 1; seed <= 10; seed++) {
    for (unsigned at = 1;; at++) {
      RandomScene scene(seed);
      if (!scene.is_possible) return;
      if (scene.proposal.state == ProposalState::none) break;
      INFO("seed " << seed << ", killed before step " << at);
      const Ended ended = run_killed(at, [&](const CommitHooks& hooks) {
        const auto report = scene.open().commit({}, hooks);
        return report && report->is_committed;
      });
      const bool has_journal = fs::exists(scene.folder() / "journal.1");
      const Proposal proposal = loaded(scene);  // as the next daemon does
      if (has_journal) {
        REQUIRE(proposal.state == ProposalState::committed);
        completed++;
      } else {
        REQUIRE(proposal.state == ProposalState::open);
        REQUIRE(picture(scene.workspace, WithTimes::yes) == scene.before);
        not_started++;
        REQUIRE(scene.commit().is_committed);  // the proposal is as good as before
      }
      REQUIRE(picture(scene.workspace) == scene.merged);
      const unsigned undo_at = 1 + (at * 7 + seed) % 20;
      run_killed(undo_at, [&](const CommitHooks& hooks) {
        const auto report = scene.open().undo(hooks);
        return report && report->is_undone;
      });
      if (loaded(scene).state == ProposalState::committed) {
        REQUIRE(picture(scene.workspace) == scene.merged);
        REQUIRE(scene.undo().is_undone);
      }
      REQUIRE(loaded(scene).state == ProposalState::undone);
      REQUIRE(picture(scene.workspace, WithTimes::yes) == scene.before);
      if (ended == Ended::by_itself) break;
      kills++;
    }
  }
  WARN("killed " << kills << " commits: " << completed << " were completed, " << not_started << " had not begun");
  CHECK(kills > 80);
}

TEST_CASE("recovery that is killed is recovered as well", "[staging][kill]") {
  for (unsigned at = 4; at <= 7; at++) {
    RandomScene scene(3);
    if (!scene.is_possible) return;
    const auto commit = [&](const CommitHooks& hooks) { return scene.open().commit({}, hooks).has_value(); };
    if (run_killed(at, commit) != Ended::killed) return;
    for (unsigned retry = 1; retry <= 3; retry++)
      run_killed(retry, [&](const CommitHooks& hooks) { return scene.open().load(hooks).has_value(); });
    const bool has_journal = fs::exists(scene.folder() / "journal.1");
    REQUIRE(loaded(scene).state == (has_journal ? ProposalState::committed : ProposalState::open));
    REQUIRE((has_journal ? picture(scene.workspace) == scene.merged
                         : picture(scene.workspace, WithTimes::yes) == scene.before));
  }
}

TEST_CASE("a commit of some paths that is killed is completed or did not begin", "[staging][kill]") {
  for (unsigned at = 1;; at++) {
    StagedScene scene;
    put(scene.workspace / "one", "1");
    put(scene.workspace / "two", "2");
    if (!scene.run([] {
          put("one", "11");
          put("two", "22");
          fs::create_directories("fresh/deep");
          put("fresh/deep/three", "3");
          put("fresh/four", "4");
        }))
      return;
    scene.settle();
    const Ended ended = run_killed(at, [&](const CommitHooks& hooks) {
      const auto report = scene.open().commit({"one", "fresh/deep/three"}, hooks);
      return report && report->is_committed;
    });
    if (!fs::exists(scene.folder() / "journal.1")) {
      REQUIRE(loaded(scene).commits == 0);
      REQUIRE(scene.commit({"one", "fresh/deep/three"}).is_committed);
    }
    const Proposal rest = loaded(scene);
    REQUIRE(rest.state == ProposalState::open);
    REQUIRE(rest.commits == 1);
    REQUIRE(paths_of(rest.files.modified) == "two");
    REQUIRE(paths_of(rest.files.created) == "fresh/four");
    REQUIRE(get(scene.workspace / "one") == "11");
    REQUIRE(get(scene.workspace / "two") == "2");
    REQUIRE(get(scene.workspace / "fresh/deep/three") == "3");
    REQUIRE_FALSE(fs::exists(scene.workspace / "fresh/four"));
    REQUIRE(scene.commit().is_committed);
    REQUIRE(picture(scene.workspace) == scene.merged);
    if (ended == Ended::by_itself) break;
  }
}
