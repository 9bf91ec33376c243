// A jail may rename while the daemon works: a thread swaps a folder of the workspace with a link to a folder
// outside, as fast as it can, while every operation runs against it.
#include <atomic>
#include <thread>

#include "tests/supervisor/tenants/scene.h"

namespace fs = std::filesystem;
using namespace tenants;

namespace {

class Swapper {
 public:
  Swapper(const fs::path& a, const fs::path& b)
      : thread_([this, a = a.string(), b = b.string()] {
          while (!stop_) {
            if (::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0) swaps_++;
          }
        }) {}
  ~Swapper() {
    stop_ = true;
    thread_.join();
  }
  int swaps() const { return swaps_; }

 private:
  std::atomic<bool> stop_{false};
  std::atomic<int> swaps_{0};
  std::thread thread_;
};

// Repeats until both ends were seen often enough, within a bound.
struct Tries {
  int succeeded = 0;
  int failed = 0;
  void count(bool success) { (success ? succeeded : failed)++; }
  bool enough() const { return (succeeded >= 30 && failed >= 30) || succeeded + failed >= 50'000; }
};

}  // namespace

TEST_CASE("no operation leaves the workspace while a folder is swapped with a link", "[workspace][race]") {
  Scene scene({100 << 20, 100'000});
  fs::create_directories(scene.inside / "folder");
  Scene::put(scene.inside / "folder" / "secret", "public");
  fs::create_symlink(scene.outside, scene.inside / "link");
  Scene::put(scene.outside / "marker", "keep");
  int leaked = 0;
  Tries reading, writing, listing;
  {
    Swapper swapper(scene.inside / "folder", scene.inside / "link");
    while (!reading.enough()) {
      auto range = scene->read(Scene::path("folder/secret"), 0, 100);
      if (range && range->bytes != "public") leaked++;
      reading.count(range.has_value());
    }
    while (!writing.enough()) {
      WriteMode mode = (writing.succeeded + writing.failed) % 2 ? WriteMode::append : WriteMode::replace;
      writing.count(scene.write("folder/written", "x", mode).has_value());
    }
    while (!listing.enough()) {
      auto names = scene.list("folder");
      if (names) {
        for (const Entry& entry : names->entries) leaked += entry.path == "folder/marker";
      }
      listing.count(names.has_value());
      (void)scene.remove("folder/written");
      (void)scene.remove("folder/written", Removal::recursive);
    }
    CHECK(swapper.swaps() > 0);
  }
  CHECK(leaked == 0);
  CHECK(reading.succeeded > 0);
  CHECK(reading.failed > 0);
  CHECK(writing.succeeded > 0);
  CHECK(writing.failed > 0);
  CHECK(Scene::get(scene.outside / "secret") == "secret");
  CHECK(std::distance(fs::directory_iterator(scene.outside), {}) == 2);
}

TEST_CASE("a recursive removal never empties a folder outside", "[workspace][race]") {
  Scene scene({100 << 20, 100'000});
  Scene::put(scene.outside / "marker", "keep");
  fs::create_symlink(scene.outside, scene.inside / "link");
  for (int round = 0; round < 50; round++) {
    fs::create_directories(scene.inside / "tree/sub/deeper");
    for (int i = 0; i < 10; i++) Scene::put(scene.inside / "tree/sub" / std::to_string(i), "x");
    {
      Swapper swapper(scene.inside / "tree/sub", scene.inside / "link");
      (void)scene.remove("tree", Removal::recursive);
    }
    // Whichever way it ended, restore: "link" may be the folder now.
    if (!fs::is_symlink(scene.inside / "link")) {
      fs::remove_all(scene.inside / "link");
      fs::create_symlink(scene.outside, scene.inside / "link");
    }
    std::error_code ignored;
    fs::remove_all(scene.inside / "tree", ignored);
    REQUIRE(Scene::get(scene.outside / "secret") == "secret");
    REQUIRE(Scene::get(scene.outside / "marker") == "keep");
  }
}

TEST_CASE("a write of a file that a program takes away at once is no error", "[workspace][race]") {
  Scene scene({100 << 20, 100'000});
  std::atomic<bool> stop{false};
  std::atomic<int> reserved{0};
  std::thread taker([&, file = (scene.inside / "go").string()] {
    while (!stop) reserved += ::unlink(file.c_str()) == 0 ? 1 : 0;
  });
  int failed = 0;
  for (int i = 0; i < 3000; i++) {
    const auto written = scene.write("go", "now", WriteMode::replace);
    failed += written && *written == 3 ? 0 : 1;
  }
  stop = true;
  taker.join();
  CHECK(failed == 0);
  CHECK(reserved > 0);
}
