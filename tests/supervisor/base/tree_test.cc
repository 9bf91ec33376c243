#include "supervisor/base/tree.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <vector>

#include "tests/catch.h"
#include "tests/temp_directory.h"

namespace fs = std::filesystem;

namespace {

void put_file(const fs::path& file, std::string_view text) { std::ofstream(file, std::ios::binary) << text; }

Fd open_to_read(const fs::path& path) {
  Fd opened(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  REQUIRE(opened);
  return opened;
}

struct Walked {
  TreeWalkEnd end;
  std::vector<std::string> paths;
};
Walked walk(const fs::path& tree, TreeBounds bounds) {
  Walked walked;
  walked.end =
      walk_tree(open_to_read(tree).get(), bounds, VanishedEntries::fail, [&](const TreeEntry& entry) -> Result<> {
        CHECK(entry.path.ends_with(entry.name));
        CHECK(entry.depth == static_cast<unsigned>(std::count(entry.path.begin(), entry.path.end(), '/')));
        walked.paths.push_back(entry.path);
        return {};
      }).value();
  return walked;
}

}  // namespace

TEST_CASE("a walk visits folders before their contents, by name, and follows no link", "[tree]") {
  const TempDirectory temp;
  fs::create_directories(temp.path() / "tree" / "b" / "inner");
  put_file(temp.path() / "tree" / "b" / "file", "x");
  put_file(temp.path() / "tree" / "a", "x");
  put_file(temp.path() / "outside", "x");
  fs::create_directory_symlink(temp.path(), temp.path() / "tree" / "link");
  const Walked all = walk(temp.path() / "tree", {5, 2});
  CHECK(all.end.exceeded == TreeBound::none);
  CHECK(all.paths == std::vector<std::string>{"a", "b", "b/file", "b/inner", "link"});

  const Walked shallow = walk(temp.path() / "tree", {5, 1});
  CHECK(shallow.end.exceeded == TreeBound::depth);
  CHECK(shallow.end.folder == "b/inner");
  const Walked few = walk(temp.path() / "tree", {4, 2});
  CHECK(few.end.exceeded == TreeBound::entries);
  CHECK(few.end.folder == "b");
  CHECK(few.paths == std::vector<std::string>{"a", "b"});
}

TEST_CASE("an entry that vanishes during a walk is an error, or left out", "[tree]") {
  const TempDirectory temp;
  for (const char* name : {"a", "b"}) fs::create_directories(temp.path() / name);
  const auto walk_and_remove = [&](VanishedEntries vanished) {
    fs::create_directories(temp.path() / "b");
    return walk_tree(open_to_read(temp.path()).get(), {9, 9}, vanished, [&](const TreeEntry&) -> Result<> {
      fs::remove(temp.path() / "b");
      return {};
    });
  };
  CHECK(walk_and_remove(VanishedEntries::fail).error().code == Code::not_found);
  CHECK(walk_and_remove(VanishedEntries::skip).value().exceeded == TreeBound::none);
}

TEST_CASE("the first error of a visit ends the walk", "[tree]") {
  const TempDirectory temp;
  for (const char* name : {"a", "b"}) put_file(temp.path() / name, "x");
  int visits = 0;
  const auto walked =
      walk_tree(open_to_read(temp.path()).get(), {9, 9}, VanishedEntries::fail, [&](const TreeEntry&) -> Result<> {
        visits++;
        return fail(Code::invalid, "no");
      });
  CHECK(walked.error().what == "no");
  CHECK(visits == 1);
}

TEST_CASE("two files are compared to their last byte", "[tree]") {
  const TempDirectory temp;
  const std::string text(600'000, 'x');
  put_file(temp.path() / "a", text);
  put_file(temp.path() / "same", text);
  put_file(temp.path() / "longer", text + "x");
  put_file(temp.path() / "other", text.substr(1) + "y");
  const auto is_same_as = [&](const char* name) {
    return have_same_bytes(open_to_read(temp.path() / "a").get(), open_to_read(temp.path() / name).get()).value();
  };
  CHECK(is_same_as("same"));
  CHECK_FALSE(is_same_as("longer"));
  CHECK_FALSE(is_same_as("other"));
  const Fd unreadable(::open(temp.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  CHECK_FALSE(have_same_bytes(open_to_read(temp.path() / "a").get(), unreadable.get()));
}

TEST_CASE("times before 1970 survive their way through nanoseconds", "[tree]") {
  for (const int64_t ns :
       {int64_t{0}, int64_t{1}, int64_t{-1}, int64_t{-1'000'000'000}, int64_t{1'700'000'000'000'000'001}}) {
    CHECK(nanoseconds_of(file_time(ns)) == ns);
    CHECK(file_time(ns).tv_nsec >= 0);
  }
}
