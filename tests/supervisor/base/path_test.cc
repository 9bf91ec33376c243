#include "supervisor/base/path.h"

#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/catch.h"
#include "tests/temp_directory.h"

namespace fs = std::filesystem;

namespace {

RelativePath path(std::string_view text) { return RelativePath::parse(text).value(); }

void put(const fs::path& file, std::string_view text) { std::ofstream(file, std::ios::binary) << text; }

// A folder "inside" that somebody else may change, and a secret beside it.
struct Scene {
  TempDirectory temp;
  fs::path inside = temp.path() / "inside";
  fs::path secret = temp.path() / "secret";
  Fd dir;
  Scene() {
    fs::create_directories(inside / "folder");
    put(secret, "secret");
    put(inside / "file", "hello");
    dir = open_directory(inside.string()).value();
  }
};

}  // namespace

TEST_CASE("a relative path is normalised", "[path]") {
  auto [text, normal] = GENERATE(table<std::string, std::string>({
      {"a", "a"},
      {"./a", "a"},
      {"a//b///c/", "a/b/c"},
      {"a/./b", "a/b"},
      {".", "."},
      {"./.", "."},
      {"...", "..."},
      {"..a", "..a"},
      {"caf\xC3\xA9/\xE2\x82\xAC", "caf\xC3\xA9/\xE2\x82\xAC"},
      {" a b ", " a b "},
      {"a\\b", "a\\b"},
  }));
  CAPTURE(text);
  auto parsed = RelativePath::parse(text);
  REQUIRE(parsed);
  CHECK(parsed->text() == normal);
}

TEST_CASE("a hostile path is refused before any system call", "[path]") {
  using namespace std::string_literals;
  auto text = GENERATE(values<std::string>({
      "",
      "/",
      "/etc/passwd",
      "//etc/passwd",
      "..",
      "../x",
      "a/..",
      "a/../b",
      "a/b/../../../x",
      "./../x",
      "a\0b"s,
      "a\nb",
      "a\x1b[31m",
      "a\x7f",
      "a\xC2\x9B"s + "31m",
      "\xFF\xFE",
      "a\xC0\xAE\xC0\xAE/b",  // an overlong ".."
      "\xED\xA0\x80",         // a surrogate
      "a\xE2\x82",            // cut short
      std::string(256, 'a'),
      std::string(4097, 'a'),
  }));
  CAPTURE(text);
  auto parsed = RelativePath::parse(text);
  REQUIRE_FALSE(parsed);
  CHECK(parsed.error().code == Code::invalid);
  CHECK_FALSE(parsed.error().hint.empty());
}

TEST_CASE("path bounds are exact", "[path]") {
  CHECK(RelativePath::parse(std::string(255, 'a')));
  std::string deep = "a";
  for (size_t i = 1; i < kMaxPathComponents; i++) deep += "/a";
  CHECK(RelativePath::parse(deep));
  CHECK_FALSE(RelativePath::parse(deep + "/a"));
  std::string longest;
  while (longest.size() + 256 <= kMaxPathBytes) longest += std::string(255, 'b') + "/";
  CHECK(longest.size() == kMaxPathBytes);
  CHECK(RelativePath::parse(longest));
  CHECK_FALSE(RelativePath::parse(longest + "c"));
}

TEST_CASE("parent, name and components take a path apart", "[path]") {
  CHECK(path("a/b/c").parent().text() == "a/b");
  CHECK(path("a").parent().is_root());
  CHECK(path("a/b/c").name() == "c");
  CHECK(path("a/b/c").components() == std::vector<std::string>{"a", "b", "c"});
  CHECK(RelativePath().components().empty());
}

TEST_CASE("links never lead anywhere", "[path]") {
  Scene scene;
  fs::create_symlink("/etc/passwd", scene.inside / "absolute");
  fs::create_symlink("../secret", scene.inside / "upwards");
  fs::create_symlink("file", scene.inside / "harmless");
  fs::create_symlink("missing", scene.inside / "dangling");
  fs::create_symlink("/proc/self/fd/0", scene.inside / "magic");
  fs::create_symlink("/proc/self/root", scene.inside / "root");
  fs::create_symlink("..", scene.inside / "parent");
  fs::create_symlink("loop", scene.inside / "loop");
  fs::create_symlink("folder", scene.inside / "folder-link");
  put(scene.inside / "folder" / "x", "x");
  auto name = GENERATE(values<std::string>({"absolute", "upwards", "harmless", "dangling", "magic", "root/etc/passwd",
                                            "parent/secret", "loop", "folder-link/x", "loop/x"}));
  CAPTURE(name);
  for (int flags : {O_RDONLY, O_WRONLY, O_RDWR}) {
    auto direct = open_beneath(scene.dir.get(), path(name), flags | (flags == O_RDONLY ? 0 : O_CREAT), 0600);
    REQUIRE_FALSE(direct);
    CHECK(direct.error().code == Code::denied);
    CHECK(direct.error().what == "cannot open '" + name + "': the path is, or contains, a symbolic link");
    auto regular = open_regular_beneath(scene.dir.get(), path(name), flags);
    REQUIRE_FALSE(regular);
    CHECK(regular.error().code == Code::denied);
  }
  CHECK_FALSE(fs::exists(scene.inside / "missing"));
  CHECK_FALSE(make_directories_beneath(scene.dir.get(), path(name + "/new"), 0700));
}

TEST_CASE("a link can be described, renamed and removed as itself", "[path]") {
  Scene scene;
  fs::create_symlink("../secret", scene.inside / "link");
  auto info = stat_beneath(scene.dir.get(), path("link"));
  REQUIRE(info);
  CHECK(S_ISLNK(info->st_mode));
  REQUIRE(rename_beneath(scene.dir.get(), path("link"), path("folder/moved"), Existing::refuse));
  REQUIRE(unlink_beneath(scene.dir.get(), path("folder/moved"), Removing::file));
  CHECK(fs::exists(scene.secret));
}

TEST_CASE("only regular files with one name are opened", "[path]") {
  Scene scene;
  fs::create_hard_link(scene.secret, scene.inside / "hard");
  REQUIRE(::mkfifo((scene.inside / "fifo").c_str(), 0600) == 0);
  Fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/socket", scene.dir.get());
  REQUIRE(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);

  auto [name, code] = GENERATE(table<std::string, Code>({{"hard", Code::denied},
                                                         {"fifo", Code::denied},
                                                         {"socket", Code::denied},
                                                         {"folder", Code::invalid},
                                                         {".", Code::invalid},
                                                         {"missing", Code::not_found},
                                                         {"file/x", Code::invalid},
                                                         {"missing/x", Code::not_found}}));
  CAPTURE(name);
  for (int flags : {O_RDONLY, O_WRONLY, O_RDWR}) {  // none of these may block
    auto opened = open_regular_beneath(scene.dir.get(), path(name), flags);
    REQUIRE_FALSE(opened);
    CHECK(opened.error().code == code);
    CHECK_FALSE(opened.error().hint.empty());
  }
}

TEST_CASE("a FIFO is refused without waking its other end", "[path]") {
  Scene scene;
  REQUIRE(::mkfifo((scene.inside / "fifo").c_str(), 0600) == 0);
  Fd reader(::open((scene.inside / "fifo").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  CHECK_FALSE(open_regular_beneath(scene.dir.get(), path("fifo"), O_WRONLY));
  char byte;
  CHECK(::read(reader.get(), &byte, 1) == 0);  // still no writer, as if nobody had come
  auto direct = open_beneath(scene.dir.get(), path("fifo"), O_RDONLY);
  CHECK(direct);  // open_beneath says so in its contract, and it did not block
}

TEST_CASE("a device node is never opened", "[path]") {
  Scene scene;
  if (::mknod((scene.inside / "null").c_str(), S_IFCHR | 0666, makedev(1, 3)) != 0) {
    WARN("SKIPPED-NEEDS root: mknod is not allowed here");
    return;
  }
  auto opened = open_regular_beneath(scene.dir.get(), path("null"), O_RDWR);
  REQUIRE_FALSE(opened);
  CHECK(opened.error().code == Code::denied);
}

TEST_CASE("directories are made and reused, never through a file", "[path]") {
  Scene scene;
  auto directories_beneath = make_directories_beneath(scene.dir.get(), path("a/b/c"), 0700);
  REQUIRE(directories_beneath);
  CHECK(fs::is_directory(scene.inside / "a/b/c"));
  CHECK(make_directories_beneath(scene.dir.get(), path("a/b/c"), 0700));
  CHECK(make_directories_beneath(scene.dir.get(), RelativePath(), 0700));
  auto through_file = make_directories_beneath(scene.dir.get(), path("file/x"), 0700);
  REQUIRE_FALSE(through_file);
  CHECK(through_file.error().code == Code::invalid);
}

TEST_CASE("rename and unlink say what stands in the way", "[path]") {
  Scene scene;
  put(scene.inside / "other", "other");
  auto refused = rename_beneath(scene.dir.get(), path("file"), path("other"), Existing::refuse);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().what == "cannot rename 'other': it exists already");
  CHECK(rename_beneath(scene.dir.get(), path("file"), path("other"), Existing::replace));
  CHECK_FALSE(rename_beneath(scene.dir.get(), RelativePath(), path("x"), Existing::replace));
  put(scene.inside / "folder" / "x", "x");
  auto full = unlink_beneath(scene.dir.get(), path("folder"), Removing::empty_directory);
  REQUIRE_FALSE(full);
  CHECK(full.error().what == "cannot delete 'folder': the folder is not empty");
  CHECK_FALSE(unlink_beneath(scene.dir.get(), path("folder"), Removing::file));
  CHECK_FALSE(unlink_beneath(scene.dir.get(), RelativePath(), Removing::empty_directory));
}

TEST_CASE("a tree is removed, links in it are not followed", "[path]") {
  Scene scene;
  fs::create_directories(scene.temp.path() / "outside");
  put(scene.temp.path() / "outside" / "keep", "keep");
  fs::create_directories(scene.inside / "tree/a/b/c");
  fs::create_directories(scene.inside / "tree/d");
  put(scene.inside / "tree/a/b/c/x", "x");
  put(scene.inside / "tree/.removing-0", "a name that is already taken");
  fs::create_symlink("../../outside", scene.inside / "tree/link");
  fs::create_symlink("../../../outside", scene.inside / "tree/a/link");
  fs::permissions(scene.inside / "tree/a/b", fs::perms::none);
  REQUIRE(remove_tree_beneath(scene.dir.get(), path("tree")));
  CHECK_FALSE(fs::exists(scene.inside / "tree"));
  CHECK(fs::exists(scene.temp.path() / "outside" / "keep"));
  auto missing = remove_tree_beneath(scene.dir.get(), path("tree"));
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == Code::not_found);
  CHECK_FALSE(remove_tree_beneath(scene.dir.get(), path("file")));
  CHECK_FALSE(remove_tree_beneath(scene.dir.get(), RelativePath()));
}

TEST_CASE("a tree of any depth is removed in slices with few descriptors", "[path]") {
  Scene scene;
  constexpr int kDepth = 3000;  // deeper than PATH_MAX allows to name
  REQUIRE(::mkdirat(scene.dir.get(), "deep", 0700) == 0);
  Fd at(::openat(scene.dir.get(), "deep", O_PATH | O_DIRECTORY | O_CLOEXEC));
  for (int i = 0; i < kDepth; i++) {
    REQUIRE(::mkdirat(at.get(), "d", 0700) == 0);
    at.reset(::openat(at.get(), "d", O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  auto removal = TreeRemoval::begin(scene.dir.get(), path("deep"));
  REQUIRE(removal);
  int slices = 0;
  for (;; slices++) {
    auto done = removal->step(100);
    REQUIRE(done);
    if (*done) break;
    REQUIRE(slices < 1000);
  }
  CHECK(slices > 30);
  CHECK_FALSE(fs::exists(scene.inside / "deep"));
}

TEST_CASE("a removal stops at its bound and can be repeated", "[path]") {
  Scene scene;
  fs::create_directory(scene.inside / "many");
  for (int i = 0; i < 50; i++) put(scene.inside / "many" / std::to_string(i), "x");
  auto bounded = remove_tree_beneath(scene.dir.get(), path("many"), 20);
  REQUIRE_FALSE(bounded);
  CHECK(bounded.error().code == Code::exhausted);
  CHECK(remove_tree_beneath(scene.dir.get(), path("many"), 100));
}

TEST_CASE("a removal notices that another folder took the place", "[path]") {
  Scene scene;
  fs::create_directories(scene.inside / "tree");
  auto removal = TreeRemoval::begin(scene.dir.get(), path("tree"));
  REQUIRE(removal);
  fs::rename(scene.inside / "tree", scene.inside / "moved");
  fs::create_directories(scene.inside / "tree/full");
  auto done = removal->step(100);
  REQUIRE_FALSE(done);
  CHECK(done.error().code == Code::unavailable);
  CHECK(fs::exists(scene.inside / "tree/full"));
}

TEST_CASE("read_whole is bounded, also for files that claim to be huge", "[path]") {
  Scene scene;
  auto read = [&](std::string_view name, size_t max) {
    return read_complete(open_regular_beneath(scene.dir.get(), path(name), O_RDONLY).value().get(), max);
  };
  CHECK(read("file", 5).value() == "hello");
  CHECK(read("file", SIZE_MAX).value() == "hello");
  CHECK(read("file", 4).error().code == Code::exhausted);
  put(scene.inside / "sparse", "");
  fs::resize_file(scene.inside / "sparse", 1ull << 40);
  CHECK(read("sparse", 100'000).error().code == Code::exhausted);
}

TEST_CASE("no timing of renames leads outside", "[path]") {
  Scene scene;
  fs::create_directories(scene.temp.path() / "outside");
  put(scene.temp.path() / "outside" / "x", "secret");
  put(scene.inside / "folder" / "x", "public");
  fs::create_symlink(scene.temp.path() / "outside", scene.inside / "link");
  std::atomic<bool> stop{false};
  std::thread swapper([&] {
    std::string a = (scene.inside / "folder").string(), b = (scene.inside / "link").string();
    while (!stop) (void)::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE);
  });
  int read_count = 0, refused_count = 0;
  for (int i = 0; i < 200'000 && (i < 2000 || read_count == 0 || refused_count == 0); i++) {
    auto opened = open_regular_beneath(scene.dir.get(), path("folder/x"), O_RDONLY);
    if (!opened) {
      refused_count++;
      continue;
    }
    read_count++;
    auto text = read_complete(opened->get(), 100);
    if (!text || *text != "public") {
      stop = true;
      swapper.join();
      FAIL("read what lies outside");
    }
  }
  stop = true;
  swapper.join();
  CHECK(read_count > 0);
  CHECK(refused_count > 0);
}
