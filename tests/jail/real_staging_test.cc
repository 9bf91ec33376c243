// A staged workspace in real jails: a program's changes go into its staging folder, and the workspace stays as it is.
#include <sys/stat.h>
#include <sys/xattr.h>

#include <filesystem>
#include <fstream>

#include "tests/catch.h"
#include "tests/jail/shared_jails.h"

using jail::Language;
using jail::Outcome;
namespace fs = std::filesystem;

namespace {

class OneFolder final : public jail::OverlayFolder {
 public:
  explicit OneFolder(std::string path) : path_(std::move(path)) {
    for (const char* name : {"", "/l", "/u", "/w"}) {
      fs::create_directories(path_ + name);
      const auto& host = jails().host();
      if (::geteuid() == 0) REQUIRE(::chown((path_ + name).c_str(), host.daemon_uid, host.daemon_gid) == 0);
    }
    fd_ = Fd(::open(path_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  ~OneFolder() override {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  int directory() const override { return fd_.get(); }
  std::string upper() const { return path_ + "/u"; }

 private:
  std::string path_;
  Fd fd_;
};

class Folders final : public jail::OverlayFolders {
 public:
  Task<Result<std::shared_ptr<jail::OverlayFolder>>> make() override {
    last = std::make_shared<OneFolder>(jails().workspace() + "/../staging-" + std::to_string(next_++));
    co_return std::shared_ptr<jail::OverlayFolder>(last);
  }
  std::shared_ptr<OneFolder> last;

 private:
  inline static unsigned next_ = 0;
};

struct Scene {
  Scene() {
    if (jails().host().root != jail::RootMode::overlay) skip("this kernel mounts no overlayfs in user namespaces");
    for (const auto& entry : fs::directory_iterator(workspace)) fs::remove_all(entry.path());
    write("old.txt", "old\n");
    write("gone.txt", "gone\n");
    fs::create_directories(workspace + "/folder");
    own(workspace + "/folder");
    write("folder/in.txt", "in\n");
  }
  static void skip(const char* why) { WARN(std::string("SKIPPED: ") + why); }
  void own(const std::string& path) const {
    const auto& host = jails().host();
    if (::geteuid() == 0) REQUIRE(::chown(path.c_str(), host.daemon_uid, host.daemon_gid) == 0);
  }
  void write(const std::string& name, const char* text) const {
    std::ofstream(workspace + "/" + name) << text;
    own(workspace + "/" + name);
  }
  static std::string read(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  jail::Report run(const char* code) {
    auto request = jails().request(Language::python, code);
    request.workspace.access = jail::WorkspaceAccess::staged;
    request.workspace.staging = folders;
    std::weak_ptr<jail::OverlayFolder> input;
    request.staged = [&input](const std::shared_ptr<jail::OverlayFolder>& folder) { input = folder; };
    auto report = jails().run(std::move(request));
    if (!report) INFO(report.error().what);
    REQUIRE(report);
    CHECK(input.lock() == folders->last);
    return *std::move(report);
  }
  std::string workspace = jails().workspace();
  std::shared_ptr<Folders> folders = std::make_shared<Folders>();
  bool usable() const { return jails().host().root == jail::RootMode::overlay; }
};

}  // namespace

TEST_CASE("a staged program changes its staging folder, and not the workspace", "[real]") {
  Scene scene;
  if (!scene.usable()) return;
  auto report = scene.run(R"(
import os, shutil
open('/workspace/old.txt', 'a').write('more\n')
os.remove('/workspace/gone.txt')
os.makedirs('/workspace/new/deep')
open('/workspace/new/deep/file', 'w').write('made')
shutil.rmtree('/workspace/folder'); os.mkdir('/workspace/folder'); open('/workspace/folder/other', 'w').write('x')
os.symlink('/etc/passwd', '/workspace/link')
result = [open('/workspace/old.txt').read(), sorted(os.listdir('/workspace')), os.stat('/workspace/old.txt').st_uid]
)");
  CHECK(report.outcome == Outcome::ok);
  REQUIRE(report.value);
  CHECK(*report.value == Json::parse(R"(["old\nmore\n", ["folder", "link", "new", "old.txt"], 1000])"));
  CHECK(report.receipt_json.find(R"("access":"staged")") != std::string::npos);

  CHECK(Scene::read(scene.workspace + "/old.txt") == "old\n");
  CHECK(Scene::read(scene.workspace + "/gone.txt") == "gone\n");
  CHECK(Scene::read(scene.workspace + "/folder/in.txt") == "in\n");
  CHECK_FALSE(fs::exists(scene.workspace + "/new"));

  const std::string upper = scene.folders->last->upper();
  CHECK(Scene::read(upper + "/old.txt") == "old\nmore\n");
  CHECK(Scene::read(upper + "/new/deep/file") == "made");
  struct stat info {};
  REQUIRE(::lstat((upper + "/gone.txt").c_str(), &info) == 0);
  CHECK((S_ISCHR(info.st_mode) && info.st_rdev == 0));
  REQUIRE(::lstat((upper + "/old.txt").c_str(), &info) == 0);
  CHECK(info.st_uid == jails().host().daemon_uid);  // the owner on disk is the workspace's
  char mark[8] = {};
  CHECK(::lgetxattr((upper + "/folder").c_str(), "user.overlay.opaque", mark, sizeof mark) == 1);
}

TEST_CASE("no path leads from a staged jail to the layers below its overlay", "[real]") {
  Scene scene;
  if (!scene.usable()) return;
  auto report = scene.run(R"(
import os
seen = []
for path in ('/workspace/l', '/workspace/u', '/workspace/w', '/workspace/../workspace/u', '/proc/self/cwd/u'):
    if os.path.lexists(path): seen.append(path)
os.chdir('/workspace'); os.chdir('..')
seen += [name for name in os.listdir('.') if name in ('l', 'u', 'w')]
try:
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.umount2(b'/workspace', 2) == 0: seen.append('umount')
except OSError: pass
try: os.mkfifo('/workspace/fifo')
except OSError as error: seen.append('no fifo')
try: os.mknod('/workspace/device', 0o600 | 0o020000, 0)
except OSError: pass
else: seen.append('device')
result = seen
)");
  CHECK((report.outcome == Outcome::ok || report.outcome == Outcome::forbidden_call));
  if (report.value) CHECK(*report.value == Json::array());
  CHECK(fs::is_fifo(scene.folders->last->upper() + "/fifo") == report.value.has_value());
}

TEST_CASE("two staged programs at once do not see each other's files", "[real]") {
  Scene scene;
  if (!scene.usable()) return;
  SideBySide both(jails());
  std::vector<std::shared_ptr<Folders>> folders;
  for (const char* code : {"import os, time; open('/workspace/a', 'w').write('a'); time.sleep(0.3); result = "
                           "sorted(os.listdir('/workspace'))",
                           "import os, time; open('/workspace/b', 'w').write('b'); time.sleep(0.3); result = "
                           "sorted(os.listdir('/workspace'))"}) {
    auto request = jails().request(Language::python, code);
    request.workspace.access = jail::WorkspaceAccess::staged;
    request.workspace.staging = folders.emplace_back(std::make_shared<Folders>());
    both.start(std::move(request));
  }
  CHECK(*both.answer(0).value == Json::parse(R"(["a", "folder", "gone.txt", "old.txt"])"));
  CHECK(*both.answer(1).value == Json::parse(R"(["b", "folder", "gone.txt", "old.txt"])"));
  CHECK(Scene::read(folders[0]->last->upper() + "/a") == "a");
  CHECK_FALSE(fs::exists(folders[0]->last->upper() + "/b"));
}

TEST_CASE("a jail that must end first has ended when the answer comes", "[real]") {
  Scene scene;
  if (!scene.usable()) return;
  for (const bool must_end : {false, true}) {
    auto request = jails().request(Language::python, "open('/workspace/x', 'w').write('x')");
    request.workspace.access = jail::WorkspaceAccess::staged;
    request.workspace.staging = scene.folders;
    bool requested = false;
    request.settles = [&](const jail::OverlayFolder& staging) -> Task<bool> {
      requested = staging.directory() == scene.folders->last->directory();
      co_return must_end;
    };
    auto report = jails().run(std::move(request));
    REQUIRE(report);
    CHECK(report->outcome == Outcome::ok);
    CHECK(requested);
    if (must_end) CHECK(report->exit_status == 0);
  }
}

TEST_CASE("a read-only workspace can be read and not be written", "[real]") {
  Scene scene;
  auto request = jails().request(Language::python, R"(
import errno
found = [open('/workspace/old.txt').read()]
for action in (lambda: open('/workspace/new', 'w'), lambda: open('/workspace/old.txt', 'a')):
    try: action()
    except OSError as error: found.append(errno.errorcode[error.errno])
result = found
)");
  request.workspace.access = jail::WorkspaceAccess::read_only;
  auto report = jails().run(std::move(request));
  REQUIRE(report);
  REQUIRE(report->value);
  CHECK(*report->value == Json::parse(R"(["old\n", "EROFS", "EROFS"])"));
  CHECK(report->receipt_json.find(R"("access":"read_only")") != std::string::npos);
}
