#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "supervisor/base/path.h"
#include "supervisor/programs/packages/confined_run.h"
#include "supervisor/programs/packages/npm_package.h"
#include "supervisor/programs/packages/scratch_folder.h"
#include "supervisor/programs/packages/tree_copy.h"
#include "tests/catch.h"

namespace fs = std::filesystem;

namespace {

struct Folders {
  std::string top = "/tmp/warder-test-packages-XXXXXX";
  std::string from, to;
  Folders() {
    REQUIRE(::mkdtemp(top.data()));
    from = top + "/from";
    to = top + "/to";
    fs::create_directory(from);
    fs::create_directory(to);
  }
  ~Folders() { fs::remove_all(top); }
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories(fs::path(from + "/" + name).parent_path());
    std::ofstream(from + "/" + name) << text;
  }
  Result<packages::CopiedTree> copy(const packages::TreeLimits& limits = {}) const {
    const auto source = open_directory(from), target = open_directory(to);
    REQUIRE((source && target));
    return packages::copy_tree(source->get(), target->get(), limits);
  }
};

mode_t mode_of(const std::string& path) {
  struct stat status {};
  REQUIRE(::lstat(path.c_str(), &status) == 0);
  return status.st_mode & 07777;
}

}  // namespace

TEST_CASE("a copied tree has plain files and folders only") {
  const Folders folders;
  folders.write("a.js", "one");
  folders.write("deep/er/b", "two");
  ::chmod((folders.from + "/a.js").c_str(), 06755);
  ::chmod((folders.from + "/deep").c_str(), 0700);
  fs::create_symlink("/etc/shadow", folders.from + "/link");
  fs::create_directory_symlink("/etc", folders.from + "/deep/etc");
  REQUIRE(::mkfifo((folders.from + "/pipe").c_str(), 0600) == 0);
  const auto copied = folders.copy();
  REQUIRE(copied);
  CHECK(copied->left_out == 3);
  CHECK(copied->bytes == 6);
  CHECK(mode_of(folders.to + "/a.js") == 0755);
  CHECK(mode_of(folders.to + "/deep/er/b") == 0644);
  CHECK(mode_of(folders.to + "/deep") == 0755);
  CHECK_FALSE(fs::exists(folders.to + "/link"));
  CHECK_FALSE(fs::exists(folders.to + "/deep/etc"));
}

TEST_CASE("a file of somebody else with several names is not published") {
  if (::geteuid() != 0) {
    WARN("NOT TESTED: another user needs root");
    return;
  }
  const Folders folders;
  folders.write("own", "one");
  folders.write("secret", "two");
  REQUIRE(::chown((folders.from + "/own").c_str(), 1234, 1234) == 0);
  REQUIRE(::chown(folders.from.c_str(), 1234, 1234) == 0);
  REQUIRE(::link((folders.from + "/own").c_str(), (folders.from + "/own-2").c_str()) == 0);
  REQUIRE(::link((folders.from + "/secret").c_str(), (folders.top + "/of-root").c_str()) == 0);
  ::chmod((folders.from + "/own").c_str(), 0640);
  const auto copied = folders.copy();
  REQUIRE(copied);
  CHECK(copied->left_out == 1);
  CHECK(copied->opened == 2);
  CHECK(fs::exists(folders.to + "/own-2"));
  CHECK_FALSE(fs::exists(folders.to + "/secret"));
}

TEST_CASE("a tree over a limit is refused") {
  const Folders folders;
  folders.write("a/b/c", "12345");
  CHECK(folders.copy({.bytes = 4}).error().code == Code::exhausted);
  fs::remove_all(folders.to + "/a");
  CHECK(folders.copy({.entries = 2}).error().code == Code::exhausted);
  fs::remove_all(folders.to + "/a");
  CHECK(folders.copy({.depth = 1}).error().code == Code::exhausted);
}

TEST_CASE("names of packages are checked") {
  const auto parsed = packages::parse_package("npm:@scope/server-x@1.2.3");
  REQUIRE(parsed);
  CHECK(parsed->name == "@scope/server-x");
  CHECK(parsed->version == "1.2.3");
  CHECK(parsed->base() == "server-x");
  CHECK(packages::parse_package("npm:plain")->version.empty());
  CHECK(packages::parse_package("npm:plain@^2.0")->version == "^2.0");
  for (const char* wrong : {"npm:", "npm:-g", "npm:../x", "npm:@scope", "npm:@/x", "npm:a/b", "npm:x@",
                            "npm:x@file:/etc", "npm:x@git+ssh://host", "npm:x y", "npm:.x", "npm:x@1 --global"})
    CHECK_FALSE(packages::parse_package(wrong));
}

TEST_CASE("the program of a package is found, and none outside of it") {
  const Folders folders;
  folders.write("package.json", R"({"name": "server-x", "bin": {"other": "no.js", "server-x": "dist/index.js"}})");
  folders.write("dist/index.js", "#!/usr/bin/env node\n");
  folders.write("run.py", "print(1)\n");
  folders.write("plain", "text\n");
  fs::create_symlink("/bin/sh", folders.from + "/sh");
  auto package = packages::package_in(folders.from);
  REQUIRE(package);
  package->name = "server-x";
  if (::access("/usr/bin/node", X_OK) == 0)
    CHECK(*packages::start_words(*package, "/usr/p", "") ==
          std::vector<std::string>{"/usr/bin/node", "/usr/p/dist/index.js"});
  CHECK(*packages::start_words(*package, "/usr/p", "run.py") ==
        std::vector<std::string>{"/usr/bin/python3", "/usr/p/run.py"});
  CHECK_FALSE(packages::start_words(*package, "/usr/p", "plain"));
  CHECK_FALSE(packages::start_words(*package, "/usr/p", "../../../bin/sh"));
  CHECK_FALSE(packages::start_words(*package, "/usr/p", "sh"));
  CHECK_FALSE(packages::start_words(*package, "/usr/p", "missing.js"));
  ::chmod((folders.from + "/plain").c_str(), 0755);
  CHECK(*packages::start_words(*package, "/usr/p", "plain") == std::vector<std::string>{"/usr/p/plain"});
}

TEST_CASE("a folder that a link leads to is no package, and another folder in its place is not copied") {
  const Folders folders;
  folders.write("run.py", "print(1)\n");
  fs::create_directory_symlink(folders.top, folders.top + "/link");
  for (const std::string path : {"/link", "/link/from"}) {
    const auto refused = packages::package_in(folders.top + path);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == Code::denied);
  }
  const auto package = packages::package_in(folders.from + "/");
  REQUIRE(package);
  CHECK(package->name == fs::path(folders.from).filename());
  fs::rename(folders.from, folders.top + "/moved");
  fs::create_directory(folders.from);
  CHECK(packages::start_words(*package, "/usr/p", "run.py"));
}

TEST_CASE("a package is installed only where jails see it, and nothing else is changed") {
  const Folders folders;
  folders.write("a", "1");
  ::chmod((folders.from + "/a").c_str(), 0600);
  const auto package = packages::package_in(folders.from);
  REQUIRE(package);
  const auto refused = packages::install_package(*package, {{folders.top + "/place"}});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::invalid);
  CHECK_FALSE(packages::install_package(*package, {{folders.from + "/a/b/place"}}));
  CHECK(mode_of(folders.from + "/a") == 0600);
  CHECK_FALSE(packages::install_package(*package, {{folders.top + "/new/b/place"}}));
  CHECK_FALSE(fs::exists(folders.top + "/new"));
}

TEST_CASE("copied trees are the same if names, bytes and modes are") {
  const Folders folders;
  folders.write("deep/a", std::string(300 << 10, 'a') + "1");
  folders.write("b", "");
  REQUIRE(folders.copy());
  const std::string retry = folders.top + "/again";
  fs::copy(folders.to, retry, fs::copy_options::recursive);
  const auto is_same = [&] {
    const auto directory = open_directory(folders.to), other = open_directory(retry);
    REQUIRE((directory && other));
    return packages::is_same_tree(directory->get(), other->get()).value();
  };
  CHECK(is_same());
  std::ofstream(retry + "/deep/a") << std::string(300 << 10, 'a') + "2";
  CHECK_FALSE(is_same());
  std::ofstream(retry + "/deep/a") << std::string(300 << 10, 'a') + "1";
  ::chmod((retry + "/deep/a").c_str(), 0755);
  CHECK_FALSE(is_same());
  ::chmod((retry + "/deep/a").c_str(), 0644);
  CHECK(is_same());
  std::ofstream(retry + "/more") << "";
  CHECK_FALSE(is_same());
  fs::remove(retry + "/more");
  fs::remove(retry + "/b");
  CHECK_FALSE(is_same());
  fs::create_symlink("deep/a", retry + "/b");
  CHECK_FALSE(is_same());
}

TEST_CASE("a package is shared if it is there already, put beside another one, and taken away if it is not kept",
          "[root]") {
  std::string top = "/usr/local/lib/warder-test-XXXXXX";
  if (::geteuid() != 0 || !::mkdtemp(top.data())) {
    WARN("NOT TESTED: packages are copied below /usr by root");
    return;
  }
  ::chmod(top.c_str(), 0755);
  const Folders folders;
  folders.write("a", "1");
  const auto package = packages::package_in(folders.from);
  REQUIRE(package);
  using packages::ExistingPackage;
  const std::string path = top + "/place", own = top + "/place@second";
  const auto text = [](const std::string& file) {
    std::string read;
    std::ifstream(file) >> read;
    return read;
  };
  { REQUIRE(packages::install_package(*package, {{path}})); }
  CHECK(fs::is_empty(top));
  const auto put = [&](const std::vector<packages::InstalledPackagePath>& positions) {
    auto installed = packages::install_package(*package, positions);
    REQUIRE(installed);
    installed->keep();
    return std::pair(installed->folder(), installed->is_shared());
  };
  CHECK(put({{path}}) == std::pair(path, false));
  CHECK(put({{path}}) == std::pair(path, true));
  { REQUIRE(packages::install_package(*package, {{path}})); }
  CHECK(text(path + "/a") == "1");  // a shared package is not taken away
  folders.write("a", "2");
  CHECK_FALSE(packages::install_package(*package, {{path}}));
  CHECK(put({{path}, {own}}) == std::pair(own, false));
  CHECK(put({{path}, {own}}) == std::pair(own, true));
  CHECK(text(path + "/a") == "1");
  {
    const auto replaced = packages::install_package(*package, {{path, ExistingPackage::replace}});
    REQUIRE((replaced && replaced->replaced()));
    CHECK(text(path + "/a") == "2");
  }
  CHECK(text(path + "/a") == "1");  // it was not kept
  CHECK(put({{path, ExistingPackage::replace}}) == std::pair(path, false));
  CHECK(text(path + "/a") == "2");
  CHECK(std::distance(fs::directory_iterator(top), {}) == 2);
  fs::remove_all(top);
}

// Runs a program in a process that has a terminal, as root's shell has. Returns the tty_nr of proc(5) of this process
// and of the program, which is 0 without a terminal.
std::pair<int, int> terminals(const std::string& folder) {
  const Fd master(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  REQUIRE((master && ::grantpt(master.get()) == 0 && ::unlockpt(master.get()) == 0));
  const std::string slave = ::ptsname(master.get());
  const std::string result = folder + ".result";
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::setsid();
    const int terminal = ::open(slave.c_str(), O_RDWR);
    if (terminal < 0) ::_exit(1);
    const auto number_in = [](std::istream& stat) {
      std::string word;
      for (int i = 0; i < 7; i++) stat >> word;
      return word;
    };
    std::ifstream own("/proc/self/stat");
    packages::ConfinedRun run;
    run.folder = folder;
    run.words = {"cat", "/proc/self/stat"};
    const auto output = packages::run_confined(run);
    std::istringstream theirs(output.value_or(""));
    std::ofstream(result) << number_in(own) << ' ' << number_in(theirs);
    ::_exit(output ? 0 : 2);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(status == 0);
  std::pair<int, int> numbers;
  std::ifstream(result) >> numbers.first >> numbers.second;
  fs::remove(result);
  return numbers;
}

TEST_CASE("a confined program has no terminal of root", "[root]") {
  std::string folder = "/var/tmp/warder-test-terminal-XXXXXX";
  if (::geteuid() != 0 || !::mkdtemp(folder.data())) {
    WARN("NOT TESTED: another user needs root");
    return;
  }
  const auto [own, theirs] = terminals(folder);
  CHECK(own != 0);
  CHECK(theirs == 0);
  fs::remove_all(folder);
}

TEST_CASE("a confined program has its folder alone", "[root]") {
  if (::geteuid() != 0) {
    WARN("NOT TESTED: another user needs root");
    return;
  }
  std::string folder = "/var/tmp/warder-test-confined-XXXXXX";
  REQUIRE(::mkdtemp(folder.data()));
  ::chmod(folder.c_str(), 0700);
  packages::ConfinedRun run;
  run.folder = folder;
  run.words = {
      "sh", "-c",
      "id -u; pwd; echo x > made; ls /root /home | wc -w; echo y > /var/tmp/escaped; ls /proc | grep -c '^[0-9]'; "
      "grep -c : /proc/net/dev; grep CapEff /proc/self/status; exit 0"};
  const auto output = packages::run_confined(run);
  REQUIRE(output);
  INFO(*output);
  CHECK(output->starts_with(std::to_string(packages::kFetcherId) + "\n" + folder + "\n"));
  CHECK(output->find("Read-only file system") != output->npos);
  CHECK(output->find("CapEff:\t0000000000000000") != output->npos);
  CHECK(fs::exists(folder + "/made"));
  CHECK_FALSE(fs::exists("/var/tmp/escaped"));
  run.words = {"sh", "-c", "echo broken >&2; exit 3"};
  const auto failed = packages::run_confined(run);
  REQUIRE_FALSE(failed);
  CHECK(failed.error().what.find("broken") != std::string::npos);
  run.words = {"sh", "-c", "sleep 600 & sleep 600"};
  run.limit = std::chrono::seconds(1);
  CHECK_FALSE(packages::run_confined(run));
  run.words = {"sh", "-c", "while :; do head -c 1000000 /dev/zero >> large; done"};
  run.limit = std::chrono::seconds(60);
  run.folder_limits.bytes = 3'000'000;
  const auto large = packages::run_confined(run);
  REQUIRE_FALSE(large);
  CHECK(large.error().code == Code::exhausted);
  run.words = {"sh", "-c", "i=0; while :; do i=$((i + 1)); mkdir -p d/$i; done"};
  run.folder_limits = {.entries = 500};
  fs::remove(folder + "/large");
  const auto many = packages::run_confined(run);
  REQUIRE_FALSE(many);
  CHECK(many.error().code == Code::exhausted);
  fs::remove_all(folder);
}

TEST_CASE("a scratch folder that a killed command left is removed by the next command, one in use is not",
          "[packages]") {
  const std::string name = "scratch-test" + std::to_string(::getpid()), prefix = "/var/tmp/warder-" + name + "-";
  for (const char* remaining : {"a1B2c3", "longer-name"}) {
    fs::create_directories(prefix + remaining + "/tree/deep");
    std::ofstream(prefix + remaining + "/tree/deep/file") << "x";
  }
  fs::create_directory_symlink("/etc", prefix + "linked");
  {
    const auto first = packages::ScratchFolder::make(name);
    REQUIRE(first);
    CHECK_FALSE(fs::exists(prefix + "a1B2c3"));
    CHECK(fs::exists(prefix + "longer-name"));
    CHECK((fs::is_symlink(prefix + "linked") && fs::exists("/etc/passwd")));
    CHECK(mode_of(first->path()) == 0711);
    auto second = packages::ScratchFolder::make(name);
    REQUIRE(second);
    CHECK(fs::exists(first->path()));
    const packages::ScratchFolder moved = *std::move(second);
    CHECK(fs::exists(moved.path()));
  }
  CHECK(std::count_if(fs::directory_iterator("/var/tmp"), {}, [&](const fs::directory_entry& entry) {
          return entry.path().string().starts_with(prefix);
        }) == 2);
  fs::remove_all(prefix + "longer-name");
  fs::remove(prefix + "linked");
}
