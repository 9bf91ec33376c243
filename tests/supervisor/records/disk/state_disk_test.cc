#include "supervisor/records/disk/state_disk.h"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "supervisor/base/disk_faults.h"
#include "supervisor/base/durable.h"
#include "supervisor/records/disk/disk_floor.h"
#include "supervisor/records/journal/reserve.h"
#include "tests/catch.h"
#include "tests/jail/await.h"
#include "tests/temp_directory.h"

namespace {

struct DiskScene {
  DiskScene() {
    REQUIRE(::mkdir((folder + "/journal").c_str(), 0700) == 0);
    auto started = WorkerThread::start(loop);
    REQUIRE(started);
    thread = *std::move(started);
    auto failing = [this] { return journal_failing; };
    auto received = [this] { reported++; };
    auto end_writers = [this](bool all) -> Task<> {
      ended.push_back(all ? "all" : "writers");
      reserve_when_ended = std::filesystem::exists(folder + "/journal/reserve");
      co_return;
    };
    disk = std::make_unique<StateDisk>(loop, *thread, folder, failing, received, end_writers);
  }

  TempDirectory temp;
  std::string folder = temp.path().string();
  Loop loop;
  bool journal_failing = false;
  int reported = 0;
  std::vector<std::string> ended;  // the calls of end_writers
  bool reserve_when_ended = false;
  std::unique_ptr<WorkerThread> thread;
  std::unique_ptr<StateDisk> disk;
};

}  // namespace

TEST_CASE("only writes that a disk did not take are faults", "[disk]") {
  const auto before = disk_faults::noted().count;
  for (const int error : {0, ENOENT, EACCES, EINTR, EFBIG}) disk_faults::note(error);
  CHECK(disk_faults::noted().count == before);
  for (const int error : {ENOSPC, EDQUOT, EIO, EROFS}) {
    disk_faults::note(error);
    CHECK(disk_faults::noted().last == error);
  }
  CHECK(disk_faults::noted().count == before + 4);
}

TEST_CASE("a tenant that is over its quota is no trouble of the state folder's disk", "[disk]") {
  DiskScene scene;
  for (int tries = 1; tries <= 2; tries++) {  // the second begins when the first was judged
    const auto before = durable::calls();
    disk_faults::note(EDQUOT);
    REQUIRE(run_until(scene.loop, [&] { return durable::calls() > before; }));
    CHECK(scene.reported == 0);
    CHECK_FALSE(scene.disk->trouble());
  }
}

TEST_CASE("a journal that cannot commit for want of space is, until it can", "[disk]") {
  DiskScene scene;
  scene.journal_failing = true;
  disk_faults::note(ENOSPC);
  REQUIRE(run_until(scene.loop, [&] { return scene.reported == 1; }));
  REQUIRE(scene.disk->trouble());
  CHECK_THAT(scene.disk->trouble()->what, Catch::Matchers::Contains("No space left on device"));
  CHECK_THAT(scene.disk->trouble()->what, Catch::Matchers::Contains(scene.folder));
  CHECK_THAT(scene.disk->trouble()->remedy, Catch::Matchers::Contains("df -h " + scene.folder));
  scene.journal_failing = false;
  REQUIRE(run_until(scene.loop, [&] { return scene.reported == 2; }));
  CHECK_FALSE(scene.disk->trouble());
}

TEST_CASE("the journal gets the reserve when the programs that write have ended, and it is made again", "[disk]") {
  DiskScene scene;
  const std::string reserve = scene.folder + "/journal/reserve";
  REQUIRE(
      run_until(scene.loop, [&] { return scene.disk->reserve_bytes() > 0 || !scene.disk->reserve_problem().empty(); }));
  if (scene.disk->reserve_bytes() == 0) return;  // a copy-on-write file system
  struct stat info {};
  REQUIRE(::stat(reserve.c_str(), &info) == 0);
  CHECK(static_cast<uint64_t>(info.st_blocks) * 512 >= scene.disk->reserve_bytes());
  CHECK_FALSE(scene.disk->refusal());

  const bool relieved = await(scene.loop, scene.disk->relieve());
  CHECK(relieved);
  CHECK(scene.ended == std::vector<std::string>{"writers"});
  CHECK(scene.reserve_when_ended);
  CHECK(::stat(reserve.c_str(), &info) < 0);
  CHECK(scene.reported == 1);
  REQUIRE(scene.disk->refusal());
  CHECK_THAT(scene.disk->refusal()->what, Catch::Matchers::Contains("did not run, because it cannot be recorded"));
  // Without a reserve, every program ends; then there is no more to give.
  CHECK(await(scene.loop, scene.disk->relieve()));
  CHECK(scene.ended.back() == "all");
  CHECK_FALSE(await(scene.loop, scene.disk->relieve()));

  REQUIRE(run_until(scene.loop, [&] { return scene.reported == 2; }));  // this disk has space
  CHECK(::stat(reserve.c_str(), &info) == 0);
  CHECK_FALSE(scene.disk->refusal());
}

TEST_CASE("file systems that write changes to new blocks have no use for a reserve", "[disk]") {
  CHECK(journal::name_of_copy_on_write(0x9123683e) == std::string("btrfs"));
  CHECK(journal::name_of_copy_on_write(0x2fc12fc1) == std::string("zfs"));
  CHECK(journal::name_of_copy_on_write(0xef53) == nullptr);      // ext4
  CHECK(journal::name_of_copy_on_write(0x58465342) == nullptr);  // xfs
}

TEST_CASE("the floor is a part of the disk, and the next look comes before a program can reach it", "[disk]") {
  DiskSpace disk{100ull << 30, 50ull << 30, 1'000'000, 900'000};
  CHECK(disk.floor_bytes() == 256 << 20);
  CHECK(disk.floor_inodes() == 10'000);
  CHECK_FALSE(disk.is_below_floor());
  CHECK(disk.next_check() == std::chrono::seconds(1));
  disk.free_bytes = (256 << 20) + (200 << 20);
  CHECK(disk.next_check() == std::chrono::milliseconds(100));
  disk.free_bytes = (256 << 20) - 1;
  CHECK(disk.is_below_floor());
  CHECK(disk.next_check() == std::chrono::milliseconds(20));
  disk = {100 << 20, 50 << 20, 10'000, 199};
  CHECK(disk.is_below_floor());
  disk.inodes = disk.free_inodes = 0;  // btrfs has no number of inodes
  CHECK_FALSE(disk.is_below_floor());
}
