#include "supervisor/tenants/index/walk.h"

#include <sys/fsuid.h>

#include "tests/supervisor/tenants/scene.h"

namespace fs = std::filesystem;
using namespace tenants;

namespace {

struct Seen {
  std::vector<std::string> paths;
  std::string missed;
};

Seen walk_all(Scene& scene, WalkBounds bounds, WalkOrder order, std::string_view start = ".") {
  Walk walk = Walk::begin(scene->directory(), Scene::path(start), bounds, order).value();
  std::vector<Entry> entries;
  for (int slices = 0;; slices++) {
    REQUIRE(slices < 10'000);
    size_t before = entries.size();
    auto ended = walk.step(3, entries);
    REQUIRE(ended);
    CHECK(entries.size() - before <= 3);
    if (*ended) break;
  }
  Seen seen;
  for (const Entry& entry : entries) seen.paths.push_back(entry.path);
  seen.missed = walk.missed();
  return seen;
}

}  // namespace

TEST_CASE("a sorted walk is the same each time, folders before their contents", "[walk]") {
  Scene scene;
  fs::create_directories(scene.inside / "b/c");
  for (const char* name : {"z", "a", "b.txt", "b/c/2", "b/c/1", "b/x"}) Scene::put(scene.inside / name, "x");
  std::vector<std::string> expected = {"a", "b", "b/c", "b/c/1", "b/c/2", "b/x", "b.txt", "z"};
  CHECK(walk_all(scene, {}, WalkOrder::sorted).paths == expected);
  auto any = walk_all(scene, {}, WalkOrder::any).paths;
  std::sort(any.begin(), any.end());
  std::sort(expected.begin(), expected.end());
  CHECK(any == expected);
  CHECK(walk_all(scene, {}, WalkOrder::sorted, "b/c").paths == std::vector<std::string>{"b/c/1", "b/c/2"});
}

TEST_CASE("a walk keeps to its depth and says what it did not see", "[walk]") {
  Scene scene;
  fs::create_directories(scene.inside / "a/b/c");
  WalkBounds bounds;
  bounds.depth = 2;
  for (WalkOrder order : {WalkOrder::sorted, WalkOrder::any}) {
    auto seen = walk_all(scene, bounds, order);
    CHECK(seen.paths == std::vector<std::string>{"a", "a/b"});
    CHECK(seen.missed.empty());  // that depth was asked for
  }
}

TEST_CASE("a walk stops at its count of entries, exactly", "[walk]") {
  Scene scene;
  for (int i = 0; i < 20; i++) Scene::put(scene.inside / std::to_string(i), "x");
  for (WalkOrder order : {WalkOrder::sorted, WalkOrder::any}) {
    WalkBounds bounds;
    bounds.entries = 20;
    auto all = walk_all(scene, bounds, order);
    CHECK(all.paths.size() == 20);
    CHECK(all.missed.empty());
    bounds.entries = 19;
    auto cut = walk_all(scene, bounds, order);
    CHECK(cut.paths.size() == 19);
    CHECK(cut.missed == "it contains more than 19 files");
  }
}

TEST_CASE("a tree nested deeper than names can be is noticed", "[walk]") {
  Scene scene;
  Fd at(::openat(scene->directory(), ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  for (int i = 0; i < 300; i++) {
    REQUIRE(::mkdirat(at.get(), "d", 0700) == 0);
    at.reset(::openat(at.get(), "d", O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  for (WalkOrder order : {WalkOrder::sorted, WalkOrder::any}) {
    auto seen = walk_all(scene, {}, order);
    CHECK(seen.paths.size() == kMaxPathComponents);
    CHECK(seen.missed == "its folders are nested deeper than 128");
  }
}

TEST_CASE("a walk describes links and special files and enters none of them", "[walk]") {
  Scene scene;
  fs::create_symlink("/", scene.inside / "root");
  fs::create_symlink("../outside", scene.inside / "up");
  REQUIRE(::mkfifo((scene.inside / "fifo").c_str(), 0600) == 0);
  Scene::put(scene.inside / "bytes\xFF\n", "x");
  Walk walk = Walk::begin(scene->directory(), RelativePath(), {}, WalkOrder::sorted).value();
  std::vector<Entry> entries;
  REQUIRE(walk.step(1000, entries));
  REQUIRE(entries.size() == 4);
  CHECK(entries[0].path == "bytes\xFF\n");
  CHECK(entries[1].kind == FileKind::other);
  CHECK(entries[2].kind == FileKind::link);
  CHECK(entries[3].kind == FileKind::link);
  CHECK_FALSE(Walk::begin(scene->directory(), Scene::path("root"), {}, WalkOrder::any));
  CHECK_FALSE(Walk::begin(scene->directory(), Scene::path("fifo"), {}, WalkOrder::any));
}

TEST_CASE("a folder that becomes a link during the walk is not followed", "[walk]") {
  Scene scene;
  fs::create_directories(scene.inside / "a");
  for (WalkOrder order : {WalkOrder::sorted, WalkOrder::any}) {
    Walk walk = Walk::begin(scene->directory(), RelativePath(), {}, order).value();
    std::vector<Entry> entries;
    while (entries.empty()) REQUIRE(walk.step(1, entries));
    // The sorted walk entered the folder in the same step; the other has only seen it.
    fs::remove(scene.inside / "a");
    fs::create_symlink(scene.outside, scene.inside / "a");
    for (;;) {
      auto ended = walk.step(100, entries);
      REQUIRE(ended);
      if (*ended) break;
    }
    CHECK(entries.size() == 1);
    fs::remove(scene.inside / "a");
    fs::create_directories(scene.inside / "a");
  }
}

TEST_CASE("an unreadable folder is named", "[walk]") {
  Scene scene;
  fs::create_directories(scene.inside / "locked/x");
  fs::permissions(scene.inside / "locked", fs::perms::none);
  if (::geteuid() == 0) ::setfsuid(65534);  // root would read it all the same: setfsuid(2)
  auto seen = walk_all(scene, {}, WalkOrder::any);
  ::setfsuid(::geteuid());
  fs::permissions(scene.inside / "locked", fs::perms::all);
  CHECK(seen.paths == std::vector<std::string>{"locked"});
  CHECK(seen.missed.find("folder 'locked' cannot be read") == 0);
}

TEST_CASE("entries that may be listed and not looked at are named, not left out", "[walk]") {
  Scene scene;
  fs::create_directories(scene.inside / "locked/x");
  fs::permissions(scene.inside / "locked", fs::perms(0444));
  const auto seen_by = [&](uid_t other) {
    if (::geteuid() == 0) ::setfsuid(other);
    auto seen = walk_all(scene, {}, WalkOrder::any);
    ::setfsuid(::geteuid());
    return seen;
  };
  if (::geteuid() == 0) {  // of another user, who gives this one no rights
    const auto seen = seen_by(65534);
    CHECK(seen.paths == std::vector<std::string>{"locked"});
    CHECK(seen.missed.starts_with("'locked/x' cannot be looked at"));
    REQUIRE(::chown((scene.inside / "locked").c_str(), 65534, 65534) == 0);
  }
  const auto seen = seen_by(65534);  // the owner takes the right
  CHECK(seen.paths == std::vector<std::string>{"locked", "locked/x"});
  CHECK(seen.missed.empty());
}
