#include "supervisor/tenants/workspace.h"

#include <sys/fsuid.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

#include "tests/supervisor/tenants/scene.h"
#include "tests/tiny_files.h"

namespace fs = std::filesystem;
using namespace tenants;

TEST_CASE("what is written is read, byte for byte", "[workspace]") {
  Scene scene;
  std::string bytes;
  for (int i = 0; i < 1000; i++) bytes += static_cast<char>(i * 7);
  CHECK(scene.write("a/b/c.bin", bytes).value() == 1000);
  auto range = scene->read(Scene::path("a/b/c.bin"), 0, 1 << 20);
  REQUIRE(range);
  CHECK(range->bytes == bytes);
  CHECK(range->size == 1000);
  CHECK_FALSE(range->more());
}

TEST_CASE("a range is exact at its edges", "[workspace]") {
  Scene scene;
  REQUIRE(scene.write("a", "0123456789"));
  auto [offset, limit, bytes, more] = GENERATE(table<uint64_t, size_t, std::string, bool>({
      {0, 10, "0123456789", false},
      {0, 9, "012345678", true},
      {0, 11, "0123456789", false},
      {9, 1, "9", false},
      {9, 100, "9", false},
      {10, 1, "", false},
      {UINT64_MAX, 1, "", false},
      {0, 0, "", true},
  }));
  CAPTURE(offset, limit);
  auto range = scene->read(Scene::path("a"), offset, limit);
  REQUIRE(range);
  CHECK(range->bytes == bytes);
  if (offset != UINT64_MAX) CHECK(range->more() == more);
}

TEST_CASE("a sparse file of a terabyte is read by range", "[workspace]") {
  Scene scene;
  Scene::put(scene.inside / "sparse", "x");
  fs::resize_file(scene.inside / "sparse", 1ull << 40);
  auto range = scene->read(Scene::path("sparse"), (1ull << 40) - 3, 100);
  REQUIRE(range);
  CHECK(range->bytes == std::string(3, '\0'));
  CHECK(range->size == 1ull << 40);
}

TEST_CASE("the three ways to write", "[workspace]") {
  Scene scene;
  CHECK(scene.write("a", "one", WriteMode::create).value() == 3);
  auto retry = scene.write("a", "two", WriteMode::create);
  REQUIRE_FALSE(retry);
  CHECK(retry.error().what == "cannot create 'a': it exists already");
  CHECK(scene.write("a", "+two", WriteMode::append).value() == 7);
  CHECK(Scene::get(scene.inside / "a") == "one+two");
  CHECK(scene.write("a", "three", WriteMode::replace).value() == 5);
  CHECK(scene.write("new", "appended", WriteMode::append).value() == 8);
  CHECK(scene.files_on_disk() == 2);
}

TEST_CASE("replacing is atomic and keeps the mode; a reader keeps what it opened", "[workspace]") {
  Scene scene;
  REQUIRE(scene.write("a", "old"));
  fs::permissions(scene.inside / "a", fs::perms(0751));
  Fd reader(::open((scene.inside / "a").c_str(), O_RDONLY | O_CLOEXEC));
  REQUIRE(scene.write("a", "new content"));
  CHECK(read_complete(reader.get(), 100).value() == "old");
  CHECK(Scene::get(scene.inside / "a") == "new content");
  CHECK(fs::status(scene.inside / "a").permissions() == fs::perms(0751));
}

TEST_CASE("links are never read, written or entered, whatever they point to", "[workspace]") {
  Scene scene;
  fs::create_symlink("/etc/passwd", scene.inside / "absolute");
  fs::create_symlink("../outside/secret", scene.inside / "upwards");
  fs::create_symlink("missing", scene.inside / "dangling");
  fs::create_symlink("/proc/self/root/etc/passwd", scene.inside / "magic");
  fs::create_symlink("../outside", scene.inside / "folder");
  fs::create_symlink(".", scene.inside / "self");
  auto name = GENERATE(values<std::string>(
      {"absolute", "upwards", "dangling", "magic", "folder", "folder/secret", "folder/new", "self/x", "self/self/x"}));
  CAPTURE(name);
  CHECK(scene->read(Scene::path(name), 0, 100).error().code == Code::denied);
  for (WriteMode mode : {WriteMode::replace, WriteMode::append, WriteMode::create}) {
    auto written = scene.write(name, "attack", mode);
    REQUIRE_FALSE(written);
    CHECK(written.error().code == Code::denied);
  }
  CHECK_FALSE(scene.list(name));
  CHECK_FALSE(scene.remove(name + "/x", Removal::recursive));
  CHECK(Scene::get(scene.outside / "secret") == "secret");
  CHECK(std::distance(fs::directory_iterator(scene.outside), {}) == 1);
  CHECK_FALSE(fs::exists(scene.inside / "missing"));
}

TEST_CASE("a link is listed as such and can be removed", "[workspace]") {
  Scene scene;
  fs::create_symlink("../outside", scene.inside / "link");
  auto listing = scene.list();
  REQUIRE(listing);
  REQUIRE(listing->entries.size() == 1);
  CHECK(listing->entries[0].kind == FileKind::link);
  CHECK(scene->stat(Scene::path("link"))->kind == FileKind::link);
  REQUIRE(scene.remove("link", Removal::recursive));
  CHECK(fs::exists(scene.outside / "secret"));
}

TEST_CASE("a hard link to a file outside is neither read nor written", "[workspace]") {
  Scene scene;
  fs::create_hard_link(scene.outside / "secret", scene.inside / "hard");
  CHECK(scene->read(Scene::path("hard"), 0, 100).error().code == Code::denied);
  for (WriteMode mode : {WriteMode::replace, WriteMode::append, WriteMode::create})
    CHECK(scene.write("hard", "attack", mode).error().code == Code::denied);
  CHECK(Scene::get(scene.outside / "secret") == "secret");
  REQUIRE(scene.remove("hard"));
  CHECK(Scene::get(scene.outside / "secret") == "secret");
}

TEST_CASE("FIFOs, sockets and devices are refused at once, listed and removable", "[workspace]") {
  Scene scene;
  REQUIRE(::mkfifo((scene.inside / "special").c_str(), 0600) == 0);
  SECTION("FIFO") {}
  SECTION("socket") {
    fs::remove(scene.inside / "special");
    Fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/special", scene->directory());
    REQUIRE(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  }
  SECTION("device") {
    fs::remove(scene.inside / "special");
    if (::mknod((scene.inside / "special").c_str(), S_IFCHR | 0666, makedev(1, 3)) != 0) {
      WARN("SKIPPED-NEEDS root: mknod is not allowed here");
      return;
    }
  }
  CHECK(scene->read(Scene::path("special"), 0, 100).error().code == Code::denied);
  for (WriteMode mode : {WriteMode::replace, WriteMode::append, WriteMode::create})
    CHECK(scene.write("special", "x", mode).error().code == Code::denied);
  auto listing = scene.list();
  REQUIRE(listing->entries.size() == 1);
  CHECK(listing->entries[0].kind == FileKind::other);
  CHECK(scene.remove("special"));
}

TEST_CASE("folders and files are not taken for each other", "[workspace]") {
  Scene scene;
  REQUIRE(scene.write("d/f", "x"));
  CHECK(scene->read(Scene::path("d"), 0, 1).error().code == Code::invalid);
  CHECK(scene.write("d", "x").error().code == Code::invalid);
  CHECK(scene.write(".", "x").error().code == Code::invalid);
  CHECK(scene.write("d/f/g", "x").error().code == Code::invalid);
  CHECK(scene->read(Scene::path("d/f/g"), 0, 1).error().code == Code::invalid);
  CHECK(scene.list("d/f").error().code == Code::invalid);
  CHECK(scene.list("missing").error().code == Code::not_found);
  CHECK(scene->read(Scene::path("missing"), 0, 1).error().code == Code::not_found);
}

TEST_CASE("a listing is sorted, bounded and says when there is more", "[workspace]") {
  Scene scene;
  for (const char* name : {"b/2", "b/1", "a", "c/d/e"}) REQUIRE(scene.write(name, name));
  auto names = [](const Listing& listing) {
    std::vector<std::string> paths;
    for (const Entry& entry : listing.entries) paths.push_back(entry.path);
    return paths;
  };
  auto all = scene.list();
  REQUIRE(all);
  CHECK(names(*all) == std::vector<std::string>{"a", "b/1", "b/2", "c/d/e"});
  CHECK_FALSE(all->more);
  CHECK(all->entries[3].size == 5);
  CHECK(all->entries[3].mtime_ns > 0);
  CHECK(names(*scene.list("b")) == std::vector<std::string>{"b/1", "b/2"});
  auto exact = scene.list(".", {kMaxPathComponents, 4});
  CHECK_FALSE(exact->more);
  auto cut = scene.list(".", {kMaxPathComponents, 3});
  CHECK(names(*cut) == std::vector<std::string>{"a", "b/1", "b/2"});
  CHECK(cut->more);
  CHECK(names(*scene.list(".", {1, 100})) == std::vector<std::string>{"a"});
  CHECK(names(*scene.list(".", {2, 100})) == std::vector<std::string>{"a", "b/1", "b/2"});
}

TEST_CASE("removing a folder needs to be asked for", "[workspace]") {
  Scene scene;
  REQUIRE(scene.write("d/f", "x"));
  auto refused = scene.remove("d");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().what == "cannot delete 'd': the folder is not empty");
  CHECK(scene.remove("d", Removal::recursive));
  REQUIRE(scene.write("e/f", "x"));
  REQUIRE(scene.remove("e/f"));
  CHECK(scene.remove("e"));
  CHECK(scene.remove("e").error().code == Code::not_found);
  CHECK_FALSE(scene.remove("."));
  REQUIRE(scene.write("g/h", "x"));
  REQUIRE(scene.write("i", "x"));
  CHECK(scene.remove(".", Removal::recursive));
  CHECK(scene.files_on_disk() == 0);
}

TEST_CASE("a large tree is removed in slices of the loop", "[workspace]") {
  Scene scene({1 << 20, 10'000});
  fs::create_directories(scene.inside / "tree/a/b");
  for (int i = 0; i < 1500; i++) Scene::put(scene.inside / "tree/a/b" / std::to_string(i), "");
  auto removing = start(scene->remove(Scene::path("tree"), Removal::recursive));
  int turns = 0;
  scene.loop.run_until([&] { return turns++, removing.done(); });
  CHECK(turns > 5);
  CHECK_FALSE(fs::exists(scene.inside / "tree"));
}

TEST_CASE("a failed write leaves no file, no folder and no change", "[workspace]") {
  Scene scene;
  REQUIRE(scene.write("a", "12345"));
  auto [name, mode] = GENERATE(table<std::string, WriteMode>({{"new/folder/file", WriteMode::replace},
                                                              {"new/folder/file", WriteMode::append},
                                                              {"a", WriteMode::replace},
                                                              {"a", WriteMode::append},
                                                              {"b", WriteMode::create}}));
  Result<uint64_t> failed = [&, n = name, m = mode] {
    TinyFiles limit;
    return scene.write(n, std::string(100, 'x'), m);
  }();
  REQUIRE_FALSE(failed);
  CHECK(failed.error().code == Code::exhausted);
  CHECK(Scene::get(scene.inside / "a") == "12345");
  CHECK(scene.files_on_disk() == 1);
  CHECK(scene->quota().usage().bytes == 5);
  CHECK(scene->quota().usage().files == 1);
}

TEST_CASE("a write that cannot be moved into place leaves no other name behind", "[workspace]") {
  if (::geteuid() != 0) {
    WARN("SKIPPED-NEEDS root, to be another user for a moment");
    return;
  }
  Scene scene;
  REQUIRE(scene.write("shared/a", "theirs"));
  fs::permissions(scene.inside / "shared", fs::perms(01777));  // sticky: others may add, not replace
  fs::permissions(scene.temp.path(), fs::perms(0755));
  fs::permissions(scene.unfinished, fs::perms(0777));
  ::setfsuid(65534);
  auto refused = scene.write("shared/a", "ours");
  ::setfsuid(0);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::denied);
  CHECK(Scene::get(scene.inside / "shared/a") == "theirs");
  CHECK(scene.files_on_disk() == 2);
}
