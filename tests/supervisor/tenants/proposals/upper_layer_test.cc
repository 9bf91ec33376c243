// What a program wrote through an overlay, read as steps and as lists of files.
#include "supervisor/tenants/proposals/upper_layer.h"

#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

#include "tests/supervisor/tenants/proposals/staged_scene.h"

namespace fs = std::filesystem;
using namespace proposals;

namespace {

// Of a proposal that is settled.
std::string shown_steps(StagedScene& scene) {
  const Fd folder = open_directory(scene.folder().string()).value();
  const auto steps = read_steps(folder.get(), 0);
  REQUIRE(steps);
  std::string text;
  for (const StagedStep& step : *steps) {
    constexpr const char* kNames[] = {"create", "replace", "remove", "mode"};
    text += std::string(text.empty() ? "" : ", ") + kNames[static_cast<size_t>(step.kind)] + " " + step.path;
  }
  return text;
}

}  // namespace

TEST_CASE("a program that writes nothing has no proposal", "[staging]") {
  StagedScene scene;
  put(scene.workspace / "file", "text");
  fs::create_symlink("file", scene.workspace / "link");
  if (!scene.run([] {
        std::ofstream("file", std::ios::app | std::ios::in).flush();  // opened for writing: the kernel copies it
        fs::last_write_time("file", fs::last_write_time("file"));
      }))
    return;
  CHECK(fs::exists(scene.upper() / "file"));
  const Proposal proposal = scene.settle();
  CHECK(proposal.state == ProposalState::none);
  CHECK_FALSE(fs::exists(scene.folder() / "proposal"));
}

TEST_CASE("each kind of change is one step, and whole folders are one step", "[staging]") {
  StagedScene scene;
  fs::create_directories(scene.workspace / "stays/inner");
  fs::create_directories(scene.workspace / "gone");
  fs::create_directories(scene.workspace / "again");
  fs::create_directories(scene.workspace / "becomes_file");
  for (const char* name : {"stays/changed", "stays/removed", "gone/a", "gone/b", "again/old", "again/both",
                           "becomes_file/x", "becomes_folder"})
    put(scene.workspace / name, "text");
  if (!scene.run([] {
        put("stays/changed", "other text");
        fs::remove("stays/removed");
        fs::permissions("stays/inner", fs::perms(0711));
        fs::remove_all("gone");
        fs::remove_all("again");
        fs::create_directory("again");
        put("again/new", "1");
        put("again/both", "22");
        fs::remove_all("becomes_file");
        put("becomes_file", "a file");
        fs::remove("becomes_folder");
        fs::create_directories("becomes_folder/deep");
        put("becomes_folder/deep/file", "333");
        fs::create_directories("fresh/deep");
        put("fresh/deep/file", "4444");
        fs::create_symlink("/etc/passwd", "link");
      }))
    return;
  const Proposal proposal = scene.settle();
  CHECK(shown_steps(scene) ==
        "replace again, replace becomes_file, replace becomes_folder, create fresh, remove gone, create link, "
        "replace stays/changed, mode stays/inner, remove stays/removed");
  CHECK(paths_of(proposal.files.created) == "again/new becomes_file becomes_folder/deep/file fresh/deep/file link");
  CHECK(paths_of(proposal.files.modified) == "again/both stays/changed");
  CHECK(paths_of(proposal.files.deleted) == "again/old becomes_file/x becomes_folder gone/a gone/b stays/removed");
  CHECK(proposal.files.modified.files[1].bytes == 10);
  CHECK(proposal.files.modified.files[1].bytes_before == 4);
  CHECK(proposal.bytes >= 10 + 8 + 3 + 4);
}

TEST_CASE("many changes are counted, and compiled modules are no part of a proposal", "[staging]") {
  StagedScene scene;
  if (!scene.run([] {
        fs::create_directories("__pycache__");
        put("__pycache__/m.cpython-311.pyc", "code");
        fs::create_directories("package/__pycache__");
        put("package/__pycache__/m.cpython-311.pyc", "code");
        put("package/__init__.py", "");
        for (int i = 0; i < 300; i++) put("f" + std::to_string(i), "x");
      }))
    return;
  const Proposal proposal = scene.settle();
  CHECK(proposal.files.created.files.size() == tenants::kListedChanges);
  CHECK(proposal.files.created.omitted == 301 - tenants::kListedChanges);
  CHECK(scene.commit().is_committed);
  CHECK_FALSE(fs::exists(scene.workspace / "__pycache__"));
  CHECK(fs::exists(scene.workspace / "package/__init__.py"));
  CHECK_FALSE(fs::exists(scene.workspace / "package/__pycache__/m.cpython-311.pyc"));
}

TEST_CASE("a program that only imports modules leaves no proposal", "[staging]") {
  StagedScene scene;
  fs::create_directories(scene.workspace / "__pycache__");
  put(scene.workspace / "__pycache__/old.pyc", "old");
  if (!scene.run([] {
        put("__pycache__/new.pyc", "new");
        fs::remove("__pycache__/old.pyc");
      }))
    return;
  CHECK(scene.settle().state == ProposalState::none);
  CHECK(get(scene.workspace / "__pycache__/old.pyc") == "old");
}

TEST_CASE("FIFOs, sockets and devices are named, deleted and never opened", "[staging][hostile]") {
  StagedScene scene;
  fs::create_directories(scene.workspace / "old");
  if (!scene.run([] {
        fs::create_directories("fresh");
        for (const char* name : {"fifo", "fresh/fifo", "old/fifo"})
          if (::mkfifo(name, 0600) < 0) ::_exit(72);
        const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::snprintf(address.sun_path, sizeof address.sun_path, "sock");
        if (::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) < 0) ::_exit(73);
        put("fresh/file", "text");
      }))
    return;
  if (::mknod((scene.upper() / "device").c_str(), S_IFCHR | 0600, makedev(1, 3)) < 0)
    WARN("SKIPPED-NEEDS root: mknod is not allowed here");
  const bool has_device = fs::exists(scene.upper() / "device");
  const Proposal proposal = scene.settle();
  CHECK(proposal.refused_count == (has_device ? 5u : 4u));
  CHECK(std::count(proposal.refused.begin(), proposal.refused.end(), "fresh/fifo") == 1);
  CHECK(paths_of(proposal.files.created) == "fresh/file");
  CHECK(scene.commit().is_committed);
  CHECK(picture(scene.workspace) == "fresh 40755\nfresh/file 100644 text\nold 40755\n");
}

TEST_CASE("marks that a newer kernel or an administrator makes are understood or refused", "[staging][hostile]") {
  StagedScene scene;
  fs::create_directories(scene.workspace / "folder");
  fs::create_directories(scene.upper() / "folder");
  fs::create_directories(scene.folder() / "w");
  put(scene.workspace / "folder/hidden", "text");
  put(scene.workspace / "folder/stays", "text");
  put(scene.workspace / "partial", "text");
  const auto mark = [](const fs::path& path, const char* name, const std::string& value) {
    REQUIRE(::lsetxattr(path.c_str(), name, value.data(), value.size(), 0) == 0);
  };
  mark(scene.upper() / "folder", "user.overlay.opaque", "x");  // has whiteouts as attributes; it is not opaque
  put(scene.upper() / "folder/hidden", "");
  mark(scene.upper() / "folder/hidden", "user.overlay.whiteout", "");
  put(scene.upper() / "partial", "");
  mark(scene.upper() / "partial", "user.overlay.metacopy", "");
  fs::create_directories(scene.upper() / "moved");
  mark(scene.upper() / "moved", "user.overlay.redirect", "/folder");
  const Proposal proposal = scene.settle();
  CHECK(proposal.refused == std::vector<std::string>{"moved", "partial"});
  CHECK(paths_of(proposal.files.deleted) == "folder/hidden");
  CHECK(scene.commit().is_committed);
  CHECK(get(scene.workspace / "folder/stays") == "text");
  CHECK_FALSE(fs::exists(scene.workspace / "folder/hidden"));
  CHECK(get(scene.workspace / "partial") == "text");
}

TEST_CASE("a folder that its owner may not read is read all the same", "[staging][hostile]") {
  StagedScene scene;
  fs::create_directories(scene.workspace / "old");
  if (!scene.run([] {
        fs::create_directories("locked/inner");
        put("locked/inner/file", "text");
        fs::permissions("locked/inner", fs::perms::none);
        fs::permissions("locked", fs::perms::none);
        put("old/file", "text");
        fs::permissions("old", fs::perms::none);
      }))
    return;
  const Proposal proposal = scene.settle();
  CHECK(paths_of(proposal.files.created) == "locked/inner/file old/file");
  CHECK(scene.commit().is_committed);
  CHECK(get(scene.workspace / "locked/inner/file") == "text");
  CHECK(fs::status(scene.workspace / "locked").permissions() == fs::perms(0700));
}

TEST_CASE("too many entries make a proposal that can only be discarded", "[staging][hostile]") {
  StagedScene scene;
  fs::create_directories(scene.upper() / "fresh");
  for (int i = 0; i < 20; i++) put(scene.upper() / "fresh" / std::to_string(i), "");
  const Fd upper = open_directory(scene.upper().string()).value();
  const auto layer = read_upper_layer(upper.get(), scene.workspace_fd.get(), 10);
  REQUIRE(layer);
  CHECK(layer->problem.find("at most 10 entries") != layer->problem.npos);
  CHECK(layer->steps.empty());
  CHECK(read_upper_layer(upper.get(), scene.workspace_fd.get(), 21)->problem.empty());
}

TEST_CASE("fifty thousand whiteouts are fifty thousand removals", "[staging][hostile]") {
  StagedScene scene;
  fs::create_directories(scene.workspace / "many");
  for (int i = 0; i < 50'000; i++) {
    const Fd created(
        ::open((scene.workspace / "many" / std::to_string(i)).c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    REQUIRE(created);
  }
  put(scene.workspace / "many/stays", "text");
  if (!scene.run([] {
        for (int i = 0; i < 50'000; i++) ::unlink(("many/" + std::to_string(i)).c_str());
      }))
    return;
  const Proposal proposal = scene.settle();
  CHECK(proposal.files.deleted.files.size() + proposal.files.deleted.omitted == 50'000);
  const CommitReport report = scene.commit();
  CHECK(report.is_committed);
  CHECK(report.steps == 50'000);
  CHECK(std::distance(fs::directory_iterator(scene.workspace / "many"), {}) == 1);
  CHECK(scene.undo().is_undone);
  CHECK(std::distance(fs::directory_iterator(scene.workspace / "many"), {}) == 50'001);
}
