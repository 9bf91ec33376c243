// Changes of other programs, before, while and after a program ran: nothing is committed over them.
#include "supervisor/tenants/proposals/conflicts.h"

#include "tests/file_times.h"
#include "tests/supervisor/tenants/proposals/staged_scene.h"

namespace fs = std::filesystem;
using namespace proposals;

namespace {

struct ConflictScene : StagedScene {
  bool is_possible;
  explicit ConflictScene(const tenants::Changes& changed = {}) {
    fs::create_directories(workspace / "gone/deep");
    for (const char* name : {"file", "removed", "gone/a", "gone/deep/b"}) put(workspace / name, "old");
    is_possible = run([] {
      put("file", "new");
      fs::remove("removed");
      fs::remove_all("gone");
      fs::create_directories("fresh");
      put("fresh/file", "new");
    });
    if (is_possible) proposal = settle(1, changed);
    next_file_time();
  }
  Proposal proposal;
};

}  // namespace

TEST_CASE("a path that another program changed before the commit is a conflict, and nothing is committed",
          "[staging]") {
  struct Row {
    std::function<void(const fs::path&)> change;
    const char* conflict;
  };
  const Row rows[] = {
      {[](const fs::path& at) { put(at / "file", "ol2"); }, "file: it was changed meanwhile\n"},
      {[](const fs::path& at) { fs::remove(at / "file"); }, "file: it was removed meanwhile\n"},
      {[](const fs::path& at) { fs::permissions(at / "file", fs::perms(0600)); }, "file: it was changed meanwhile\n"},
      {[](const fs::path& at) { put(at / "removed", "longer"); }, "removed: it was changed meanwhile\n"},
      {[](const fs::path& at) { put(at / "gone/deep/c", ""); }, "gone: it was changed meanwhile\n"},
      {[](const fs::path& at) { put(at / "gone/deep/b", "oLd"); }, "gone: it was changed meanwhile\n"},
      {[](const fs::path& at) { put(at / "fresh", ""); }, "fresh: it was created meanwhile\n"},
      {[](const fs::path& at) { fs::create_directory(at / "fresh"); }, "fresh: it was created meanwhile\n"},
  };
  for (const Row& row : rows) {
    ConflictScene scene;
    if (!scene.is_possible) return;
    row.change(scene.workspace);
    const std::string before = picture(scene.workspace, WithTimes::yes);
    const CommitReport report = scene.commit();
    CHECK_FALSE(report.is_committed);
    CHECK(shown_conflicts(report.conflicts) == row.conflict);
    CHECK(report.proposal.state == ProposalState::open);
    CHECK(picture(scene.workspace, WithTimes::yes) == before);
  }
}

TEST_CASE("a conflict of one path leaves the other paths to a commit of their own", "[staging]") {
  ConflictScene scene;
  if (!scene.is_possible) return;
  put(scene.workspace / "file", "another");
  CHECK_FALSE(scene.commit().is_committed);
  CHECK(scene.commit({"removed", "gone"}).is_committed);
  CHECK_FALSE(fs::exists(scene.workspace / "gone"));
  CHECK(get(scene.workspace / "file") == "another");
}

TEST_CASE("a file that was written again with the same bytes is no conflict", "[staging]") {
  ConflictScene scene;
  if (!scene.is_possible) return;
  fs::remove(scene.workspace / "file");
  put(scene.workspace / "file", "old");
  const CommitReport report = scene.commit();
  CHECK(report.is_committed);
  CHECK(scene.undo().is_undone);
  CHECK(get(scene.workspace / "file") == "old");
}

TEST_CASE("what other programs changed while the program ran is a conflict at once", "[staging]") {
  const auto changed = [](std::vector<std::string> paths) {
    tenants::Changes changes;
    changes.modified.paths = std::move(paths);
    return changes;
  };
  const std::string why = ": another program changed it while this one ran\n";
  struct Row {
    tenants::Changes changes;
    std::string conflicts;
  };
  const Row rows[] = {{changed({"file"}), "file" + why},
                      {changed({"gone/deep/b"}), "gone" + why},
                      {changed({"fresh/file/deeper"}), "fresh" + why},
                      {changed({"file2", "gone2/a", "other"}), ""}};
  for (const Row& row : rows) {
    ConflictScene scene(row.changes);
    if (!scene.is_possible) return;
    CHECK(shown_conflicts(scene.proposal.conflicts) == row.conflicts);
    const CommitReport report = scene.commit();
    CHECK(report.is_committed == row.conflicts.empty());
    CHECK(shown_conflicts(report.conflicts) == row.conflicts);
  }
}

TEST_CASE("where not all changes of others are known, the times of files decide", "[staging]") {
  StagedScene scene;
  put(scene.workspace / "early", "old");
  next_file_time();
  const int64_t start = tenants::coarse_now_ns();
  put(scene.workspace / "late", "old");
  if (!scene.run([] {
        put("early", "new");
        put("late", "new");
      }))
    return;
  tenants::Changes changes;
  changes.modified.omitted = 5;
  auto settled = scene.open().settle({}, {changes, start}, 1, 1);
  REQUIRE(settled);
  CHECK(shown_conflicts(settled->conflicts) == "late: another program changed it while this one ran\n");
}

TEST_CASE("a folder that was removed while the program changed it is a conflict", "[staging][hostile]") {
  StagedScene scene;
  fs::create_directories(scene.workspace / "folder");
  put(scene.workspace / "folder/a", "old");
  put(scene.workspace / "folder/b", "old");
  if (!scene.run([] { put("folder/a", "new"); })) return;
  fs::remove_all(scene.workspace / "folder");
  const Proposal proposal = scene.settle();
  CHECK(shown_conflicts(proposal.conflicts) ==
        "folder: another program removed the folder while this one changed it\n");
  CHECK_FALSE(scene.commit().is_committed);
  CHECK_FALSE(fs::exists(scene.workspace / "folder"));
}

TEST_CASE("the second of two proposals on one file is a conflict", "[staging]") {
  StagedScene scene;
  put(scene.workspace / "file", "old");
  for (const unsigned number : {1u, 2u}) {
    if (!scene.run([number] { put("file", "of " + std::to_string(number)); }, number)) return;
    scene.settle(number);
  }
  CHECK(scene.commit({}, 2).is_committed);
  CHECK(shown_conflicts(scene.commit({}, 1).conflicts) == "file: it was changed meanwhile\n");
  CHECK(get(scene.workspace / "file") == "of 2");
  CHECK(scene.undo(2).is_undone);
  CHECK(scene.commit({}, 1).is_committed);  // the bytes are the old ones again
  CHECK(get(scene.workspace / "file") == "of 1");
}

TEST_CASE("an undo after a later edit is a conflict", "[staging]") {
  const std::function<void(const fs::path&)> edits[] = {
      [](const fs::path& at) { std::ofstream(at / "file", std::ios::app) << "edit"; },
      [](const fs::path& at) { put(at / "removed", "back"); },
      [](const fs::path& at) { put(at / "fresh/more", "edit"); },
      [](const fs::path& at) { fs::remove_all(at / "fresh"); },
  };
  for (const auto& edit : edits) {
    ConflictScene scene;
    if (!scene.is_possible) return;
    REQUIRE(scene.commit().is_committed);
    next_file_time();
    edit(scene.workspace);
    const std::string before = picture(scene.workspace, WithTimes::yes);
    const UndoReport report = scene.undo();
    CHECK_FALSE(report.is_undone);
    CHECK(report.conflicts.listed.size() == 1);
    CHECK(report.proposal.state == ProposalState::committed);
    CHECK(picture(scene.workspace, WithTimes::yes) == before);
  }
}

TEST_CASE("an edit during the undo makes the commit whole again", "[staging][hostile]") {
  for (unsigned at = 2; at <= 6; at++) {
    ConflictScene scene;
    if (!scene.is_possible) return;
    REQUIRE(scene.commit().is_committed);
    unsigned step = 0;
    CommitHooks hooks;
    hooks.before_step = [&] {
      if (++step != at) return;
      fs::remove(scene.workspace / "file");
      put(scene.workspace / "file", "of another program");
    };
    const auto report = scene.open().undo(hooks);
    REQUIRE(report);
    if (report->is_undone) continue;  // the file was restored already
    CHECK(report->proposal.state == ProposalState::committed);
    CHECK(get(scene.workspace / "file") == "of another program");
    CHECK(get(scene.workspace / "fresh/file") == "new");
    CHECK_FALSE(fs::exists(scene.workspace / "removed"));
    CHECK_FALSE(fs::exists(scene.workspace / "gone"));
  }
}
