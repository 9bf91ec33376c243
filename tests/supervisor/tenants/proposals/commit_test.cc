// Commits and undos without a crash: paths, bytes, modes, links, times; damaged records; interference.
#include "supervisor/tenants/proposals/commit.h"

#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>

#include "tests/supervisor/tenants/proposals/staged_scene.h"

namespace fs = std::filesystem;
using namespace proposals;

namespace {

// A scene with a proposal that changes three files and makes a folder.
struct SmallScene : StagedScene {
  bool is_possible;
  SmallScene() {
    fs::create_directories(workspace / "folder");
    for (const char* name : {"folder/a", "b", "c"}) put(workspace / name, "old");
    is_possible = run([] {
      put("folder/a", "new a");
      put("b", "new b");
      fs::remove("c");
      fs::create_directories("fresh/deep");
      put("fresh/deep/d", "new d");
      put("fresh/e", "new e");
    });
    if (is_possible) settle();
  }
};

}  // namespace

TEST_CASE("an undo restores bytes, modes, links and times", "[staging]") {
  StagedScene scene;
  fs::create_directories(scene.workspace / "folder/deep");
  fs::create_directories(scene.workspace / "closed");
  put(scene.workspace / "folder/file", "old");
  put(scene.workspace / "folder/deep/file", "old");
  put(scene.workspace / "closed/file", "old");
  fs::permissions(scene.workspace / "folder/file", fs::perms(0640));
  fs::permissions(scene.workspace / "closed", fs::perms(0711));
  fs::create_symlink("folder/file", scene.workspace / "link");
  fs::create_hard_link(scene.workspace / "folder/file", scene.workspace / "hard");
  const timespec long_ago[2] = {{1'000'000'000, 7}, {1'000'000'001, 8}};
  for (const char* name : {"folder/file", "folder/deep", "folder", "closed", "."})
    REQUIRE(::utimensat(AT_FDCWD, (scene.workspace / name).c_str(), long_ago, 0) == 0);
  const std::string before = picture(scene.workspace, WithTimes::yes);
  if (!scene.run([] {
        put("folder/file", "new");
        fs::permissions("folder/file", fs::perms(0600));
        fs::remove_all("folder/deep");
        fs::permissions("closed", fs::perms(0700));
        fs::remove("closed/file");
        fs::remove("link");
        fs::create_symlink("elsewhere", "link");
        put("fresh", "new");
      }))
    return;
  scene.settle();
  CHECK(scene.commit().is_committed);
  CHECK(picture(scene.workspace) == scene.merged);
  CHECK(scene.undo().is_undone);
  CHECK(picture(scene.workspace, WithTimes::yes) == before);
  struct stat one, other;
  REQUIRE(::stat((scene.workspace / "folder/file").c_str(), &one) == 0);
  REQUIRE(::stat((scene.workspace / "hard").c_str(), &other) == 0);
  CHECK(one.st_ino == other.st_ino);
}

TEST_CASE("no mark of overlayfs stays on committed files", "[staging]") {
  StagedScene scene;
  fs::create_directories(scene.workspace / "folder");
  put(scene.workspace / "folder/file", "old");
  put(scene.workspace / "read_only", "old");
  fs::permissions(scene.workspace / "read_only", fs::perms(0444));
  if (!scene.run([] {
        put("folder/file", "new");
        fs::rename("folder/file", "moved");
        fs::remove_all("folder");
        fs::create_directories("folder/inner");
        fs::permissions("read_only", fs::perms(0400));
      }))
    return;
  scene.settle();
  CHECK(scene.commit().is_committed);
  CHECK(picture(scene.workspace).find("user.overlay") == std::string::npos);
  CHECK(picture(scene.workspace) == scene.merged);
}

TEST_CASE("a commit of some paths leaves the rest open", "[staging]") {
  SmallScene scene;
  if (!scene.is_possible) return;
  const CommitReport first = scene.commit({"folder", "fresh/deep/d"});
  CHECK(first.is_committed);
  CHECK(first.proposal.state == ProposalState::open);
  CHECK(first.proposal.commits == 1);
  CHECK(paths_of(first.proposal.files.created) == "fresh/e");
  CHECK(paths_of(first.proposal.files.modified) == "b");
  CHECK(paths_of(first.proposal.files.deleted) == "c");
  CHECK(get(scene.workspace / "fresh/deep/d") == "new d");
  CHECK(get(scene.workspace / "b") == "old");
  const CommitReport second = scene.commit({"b", "./fresh/"});
  CHECK(second.is_committed);
  CHECK(second.proposal.state == ProposalState::open);
  CHECK(scene.commit().proposal.state == ProposalState::committed);
  CHECK(picture(scene.workspace) == scene.merged);
  CHECK(scene.undo().proposal.state == ProposalState::committed);
  CHECK(scene.undo().proposal.state == ProposalState::committed);
  const UndoReport last = scene.undo();
  CHECK(last.is_undone);
  CHECK(last.proposal.state == ProposalState::undone);
  CHECK(get(scene.workspace / "folder/a") == "old");
  CHECK(get(scene.workspace / "c") == "old");
  CHECK_FALSE(fs::exists(scene.workspace / "fresh"));
  CHECK_FALSE(scene.open().undo());
  CHECK_FALSE(scene.open().commit({}));
}

TEST_CASE("paths that name no change, or a part of a folder that is replaced, are refused", "[staging]") {
  StagedScene scene;
  fs::create_directories(scene.workspace / "gone");
  put(scene.workspace / "gone/a", "old");
  put(scene.workspace / "gone/b", "old");
  if (!scene.run([] {
        fs::remove_all("gone");
        put("fresh", "new");
      }))
    return;
  scene.settle();
  const std::string before = picture(scene.workspace);
  const auto wrong = [&](const std::string& path) {
    auto report = scene.open().commit({"fresh", path});
    REQUIRE_FALSE(report);
    CHECK(report.error().code == Code::invalid);
    CHECK_FALSE(report.error().hint.empty());
    return report.error().what;
  };
  CHECK(wrong("other").find("paths[1]") != std::string::npos);
  CHECK(wrong("gone/a").find("'gone' is removed as a whole") != std::string::npos);
  CHECK(wrong("/etc").find("paths[1]") != std::string::npos);
  CHECK(wrong("").find("paths[1]") != std::string::npos);
  CHECK(wrong("../fresh").find("paths[1]") != std::string::npos);
  CHECK(picture(scene.workspace) == before);
}

TEST_CASE("a change of the workspace during the commit takes all steps back", "[staging][hostile]") {
  for (const unsigned at : {4u, 5u, 6u, 7u}) {
    for (const bool moves_folder : {false, true}) {
      SmallScene scene;
      if (!scene.is_possible) return;
      INFO("before step " << at << (moves_folder ? ", a folder" : ", a file"));
      CommitHooks hooks;
      unsigned step = 0;
      bool interfered = false;
      hooks.before_step = [&] {
        if (++step != at) return;
        interfered = true;
        if (moves_folder) {  // a link to another folder, where the commit would write
          fs::create_directories(scene.temp.path() / "outside");
          put(scene.temp.path() / "outside/a", "outside");
          fs::rename(scene.workspace / "folder", scene.workspace / "aside");
          fs::create_symlink(scene.temp.path() / "outside", scene.workspace / "folder");
        } else {
          fs::remove(scene.workspace / "folder/a");
          put(scene.workspace / "folder/a", "of another program");
        }
      };
      const auto report = scene.open().commit({}, hooks);
      REQUIRE(report);
      REQUIRE(interfered);
      if (report->is_committed) {  // the step of this path was made already
        CHECK(get(scene.workspace / "b") == "new b");
        continue;
      }
      CHECK_FALSE(report->conflicts.empty());
      CHECK(report->proposal.state == ProposalState::open);
      CHECK(get(scene.workspace / "b") == "old");
      CHECK(get(scene.workspace / "c") == "old");
      CHECK_FALSE(fs::exists(scene.workspace / "fresh"));
      CHECK_FALSE(fs::exists(scene.folder() / "journal.1"));
      if (moves_folder) {
        CHECK(get(scene.temp.path() / "outside/a") == "outside");
        CHECK(get(scene.workspace / "aside/a") == "old");
      } else {
        CHECK(get(scene.workspace / "folder/a") == "of another program");
      }
    }
  }
}

TEST_CASE("a step that the disk refuses takes all steps back", "[staging][hostile]") {
  SmallScene scene;
  if (!scene.is_possible) return;
  const std::string before = picture(scene.workspace);
  const auto set_immutable = [&](int flags) {
    const Fd folder(::open((scene.workspace / "folder").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return ::ioctl(folder.get(), FS_IOC_SETFLAGS, &flags) == 0;
  };
  if (!set_immutable(FS_IMMUTABLE_FL)) {
    WARN("SKIPPED-NEEDS root, and a file system with immutable folders");
    return;
  }
  const auto refused = scene.open().commit({});
  const std::string after = picture(scene.workspace);
  const bool has_journal = fs::exists(scene.folder() / "journal.1");
  REQUIRE(set_immutable(0));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::denied);
  CHECK(after == before);
  CHECK_FALSE(has_journal);
  REQUIRE(scene.commit().is_committed);
  CHECK(picture(scene.workspace) == scene.merged);
  REQUIRE(set_immutable(FS_IMMUTABLE_FL));
  const auto saved = scene.open().undo();
  REQUIRE(set_immutable(0));
  CHECK_FALSE(saved);
  CHECK(picture(scene.workspace) == scene.merged);
  CHECK(scene.undo().is_undone);
  CHECK(picture(scene.workspace) == before);
}

TEST_CASE("a commit of a daemon that ends is completed by the next one", "[staging]") {
  SmallScene scene;
  if (!scene.is_possible) return;
  CommitHooks hooks;
  unsigned requested = 0;
  hooks.must_stop = [&] { return ++requested > 2; };
  const auto report = scene.open().commit({}, hooks);
  REQUIRE_FALSE(report);
  CHECK(report.error().code == Code::unavailable);
  CHECK(picture(scene.workspace) != scene.merged);
  const auto proposal = scene.open().load();
  REQUIRE(proposal);
  CHECK((*proposal)->state == ProposalState::committed);
  CHECK(picture(scene.workspace) == scene.merged);
}

TEST_CASE("staged files that a power failure cut off are refused", "[staging][hostile]") {
  SmallScene scene;
  if (!scene.is_possible) return;
  REQUIRE(::truncate((scene.upper() / "fresh/deep/d").c_str(), 0) == 0);
  const auto report = scene.open().commit({});
  REQUIRE_FALSE(report);
  CHECK(report.error().code == Code::unavailable);
  CHECK(report.error().what.find("'fresh'") != std::string::npos);
  CHECK(get(scene.workspace / "b") == "old");
  CHECK(scene.commit({"b"}).is_committed);
}

TEST_CASE("planted and damaged records do nothing, and leave a proposal to discard", "[staging][hostile]") {
  SmallScene scene;
  if (!scene.is_possible) return;
  put(scene.temp.path() / "secret", "secret");
  const std::string before = picture(scene.workspace, WithTimes::yes);
  CommitJournal evil;
  evil.number = 1;
  JournalRow row;
  row.kind = StepKind::remove;
  row.path = "../secret";
  row.staged = "old/1";
  struct stat info;
  REQUIRE(::stat((scene.temp.path() / "secret").c_str(), &info) == 0);
  row.base.inode = info.st_ino;
  evil.rows = {row};
  const std::string outside = journal_text(evil).value();
  evil.rows[0].path = "b";
  evil.rows[0].staged = "../../secret";
  const std::string to_outside = journal_text(evil).value();
  evil.rows[0].staged = "old/1";
  std::string cut = journal_text(evil).value();
  cut.resize(cut.size() / 2);
  evil.number = 2;
  const std::string other_number = journal_text(evil).value();
  for (const std::string& text : {outside, to_outside, cut, other_number, std::string(), std::string("\n"),
                                  std::string("garbage\n"), std::string(1000, '\0')}) {
    put(scene.folder() / "journal.1", text);
    const auto proposal = scene.open().load();
    REQUIRE(proposal);
    CHECK((*proposal)->state == ProposalState::damaged);
    CHECK_FALSE(scene.open().commit({}));
    CHECK_FALSE(scene.open().undo());
    CHECK_FALSE(scene.open().diff(1000));
    CHECK(picture(scene.workspace, WithTimes::yes) == before);
    CHECK(get(scene.temp.path() / "secret") == "secret");
  }
  fs::remove(scene.folder() / "journal.1");
  ::mkfifo((scene.folder() / "journal.1").c_str(), 0600);
  CHECK_FALSE(scene.open().commit({}));
  fs::remove(scene.folder() / "journal.1");
  put(scene.folder() / "steps.0", "");
  CHECK((*scene.open().load())->state == ProposalState::damaged);
}

TEST_CASE("a daemon without privileges commits into folders that it may not write", "[staging]") {
  if (::geteuid() != 0) {
    WARN("SKIPPED-NEEDS root, to be another user for a moment");
    return;
  }
  StagedScene scene;
  for (const char* name : {"", "workspace", "staging"})
    REQUIRE(::chown((scene.temp.path() / name).c_str(), 4711, 4711) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) try {
      if (::setresgid(4711, 4711, 4711) < 0 || ::setresuid(4711, 4711, 4711) < 0) ::_exit(69);
      ::prctl(PR_SET_DUMPABLE, 1);  // else its own /proc files belong to root
      fs::create_directories(scene.workspace / "closed/inner");
      put(scene.workspace / "closed/file", "old");
      fs::permissions(scene.workspace / "closed/inner", fs::perms(0555));
      fs::permissions(scene.workspace / "closed", fs::perms(0555));
      const std::string before = picture(scene.workspace, WithTimes::yes);
      const bool possible = scene.run([] {
        fs::permissions("closed", fs::perms(0755));
        put("closed/file", "new");
        fs::remove("closed/inner");
        fs::create_directories("closed/fresh");
        put("closed/fresh/file", "text");
        fs::permissions("closed/fresh", fs::perms(0555));
        fs::permissions("closed", fs::perms(0555));
      });
      if (!possible) ::_exit(76);
      scene.settle();
      if (!scene.commit().is_committed) ::_exit(71);
      if (picture(scene.workspace) != scene.merged) ::_exit(72);
      if (!scene.undo().is_undone) ::_exit(73);
      ::_exit(picture(scene.workspace, WithTimes::yes) == before ? 0 : 74);
    } catch (...) {  // a failed REQUIRE
      ::_exit(75);
    }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 76) {
    WARN("SKIPPED-NEEDS overlay mounts with userxattr in a user namespace");
    return;
  }
  CHECK(status == 0);
}
