#include "supervisor/tenants/quota.h"

#include "tests/supervisor/tenants/scene.h"

using Catch::Matchers::Contains;

namespace fs = std::filesystem;
using namespace tenants;

TEST_CASE("an entry costs what it occupies", "[quota]") {
  Entry entry;
  entry.kind = FileKind::file;
  auto [size, allocated, charge] = GENERATE(table<uint64_t, uint64_t, uint64_t>({
      {0, 0, 0},
      {1, 4096, 1},  // rounding is not charged
      {4096, 4096, 4096},
      {1ull << 40, 8192, 8192},  // sparse
      {10, 64 << 20, 64 << 20},  // preallocated beyond its end
      {100'000, 131'072, 100'000},
  }));
  entry.size = size;
  entry.allocated = allocated;
  CHECK(charge_of(entry) == charge);
  entry.kind = FileKind::directory;
  CHECK(charge_of(entry) == 0);
}

TEST_CASE("an exact fit is allowed, one more is refused with the numbers", "[quota]") {
  Quota quota({100, 3});
  quota.set_usage({90, 1, ""});
  CHECK(quota.check("a", 10, 2));
  auto bytes = quota.check("a", 11, 0);
  REQUIRE_FALSE(bytes);
  CHECK(bytes.error().code == Code::exhausted);
  CHECK(bytes.error().what == "writing 'a' needs 11 bytes more, 10 of 100 are left in this workspace");
  CHECK(bytes.error().rule == "quota.workspace_bytes");
  CHECK_FALSE(bytes.error().hint.empty());
  auto files = quota.check("a", 0, 3);
  REQUIRE_FALSE(files);
  CHECK(files.error().what == "writing 'a' adds 3 files and folders, 2 of 3 are left in this workspace");
  CHECK(files.error().rule == "quota.workspace_files");
}

TEST_CASE("a workspace over its quota may only shrink", "[quota]") {
  Quota quota({100, 3});
  quota.set_usage({200, 5, ""});
  CHECK(quota.check("a", 0, 0));
  CHECK(quota.check("a", -50, 0));
  CHECK_FALSE(quota.check("a", 1, 0));
  CHECK_FALSE(quota.within());
  CHECK(quota.remaining().bytes == 0);
  quota.add(-100, -2);
  CHECK(quota.within());
  quota.add(-1000, -1000);  // the account never goes below nothing
  CHECK(quota.usage().bytes == 0);
}

TEST_CASE("a workspace that cannot be counted takes no more", "[quota]") {
  Quota quota({100, 3});
  quota.set_usage({0, 1, "it contains more than 4 files"});
  auto refused = quota.check("a", 1, 0);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::exhausted);
  CHECK(refused.error().what ==
        "cannot write 'a': the size of the workspace cannot be measured: it contains more than 4 files");
  CHECK_THAT(refused.error().hint, Contains("delete_workspace_file with recursive"));
  auto beyond = quota.within();
  REQUIRE_FALSE(beyond);
  CHECK(beyond.error().hint == refused.error().hint);
}

TEST_CASE("usage counts a hard-linked file once, sparse and special files as what they occupy", "[quota]") {
  Scene scene;
  Scene::put(scene.inside / "a", std::string(1000, 'x'));
  fs::create_hard_link(scene.inside / "a", scene.inside / "b");
  fs::create_directories(scene.inside / "d/e");
  Scene::put(scene.inside / "d/e/f", std::string(500, 'x'));
  fs::create_symlink("a", scene.inside / "link");
  REQUIRE(::mkfifo((scene.inside / "fifo").c_str(), 0600) == 0);
  Scene::put(scene.inside / "sparse", "");
  fs::resize_file(scene.inside / "sparse", 1ull << 40);
  Usage usage = scene.measure();
  CHECK(usage.bytes == 1500);
  CHECK(usage.files == 7);  // a=b, d, d/e, d/e/f, link, fifo, sparse
  CHECK(usage.problem.empty());
}

TEST_CASE("the byte quota holds to the byte and leaves nothing half-written", "[quota]") {
  Scene scene({100, 1000});
  REQUIRE(scene.write("a", std::string(60, 'x')));
  auto over = scene.write("new/folder/b", std::string(41, 'x'));
  REQUIRE_FALSE(over);
  CHECK(over.error().code == Code::exhausted);
  CHECK(scene.files_on_disk() == 1);
  REQUIRE(scene.write("b", std::string(40, 'x')));
  CHECK(scene->quota().remaining().bytes == 0);
  CHECK_FALSE(scene.write("a", "y", WriteMode::append));
  CHECK(Scene::get(scene.inside / "a") == std::string(60, 'x'));
  CHECK_FALSE(scene.write("a", std::string(61, 'z')));
  CHECK(Scene::get(scene.inside / "a") == std::string(60, 'x'));
  REQUIRE(scene.write("a", std::string(60, 'z')));  // the same size fits
  REQUIRE(scene.write("a", ""));
  CHECK(scene->quota().remaining().bytes == 60);
  REQUIRE(scene.remove("b"));
  CHECK(scene->quota().remaining().bytes == 100);
}

TEST_CASE("the file quota counts folders too", "[quota]") {
  Scene scene({1000, 3});
  REQUIRE(scene.write("a/b", "x"));
  CHECK_FALSE(scene.write("c/d", "x"));
  CHECK(scene.files_on_disk() == 2);
  REQUIRE(scene.write("c", "x"));
  CHECK_FALSE(scene.write("d", "x"));
  REQUIRE(scene.write("c", "y"));
  REQUIRE(scene.remove("a", Removal::recursive));
  REQUIRE(scene.write("d/e", "x"));  // counted again after the recursive removal
  CHECK(scene->quota().usage().files == 3);
}

TEST_CASE("what a jail wrote counts after invalidate", "[quota]") {
  Scene scene({1000, 5});
  REQUIRE(scene.write("a", "x"));
  Scene::put(scene.inside / "jail", std::string(995, 'x'));
  scene->invalidate();
  CHECK_FALSE(scene.write("b", "12345"));
  CHECK(scene.write("b", "1234"));
  for (int i = 0; i < 10; i++) Scene::put(scene.inside / ("more" + std::to_string(i)), "");
  scene->invalidate();
  auto refused = scene.write("c", "");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::exhausted);
  for (int i = 0; i < 10; i++) REQUIRE(scene.remove("more" + std::to_string(i)));
  REQUIRE(scene.remove("jail"));
  CHECK(scene.write("c", "x"));  // deleting cured it, without another invalidate
}

TEST_CASE("the account stays equal to a fresh count", "[quota]") {
  Scene scene;
  REQUIRE(scene.write("a/b/c", "12345"));
  REQUIRE(scene.write("a/b/c", "1234567", WriteMode::append));
  REQUIRE(scene.write("a/d", std::string(100'000, 'x')));
  REQUIRE(scene.write("a/d", "short"));
  REQUIRE(scene.write("e", "x", WriteMode::create));
  REQUIRE(scene.remove("e"));
  Usage usage = scene->quota().usage();
  Usage counted = scene.measure();
  CHECK(usage.bytes == counted.bytes);
  CHECK(usage.files == counted.files);
}
