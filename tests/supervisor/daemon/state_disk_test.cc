#include "supervisor/daemon/state_disk.h"

#include <sys/stat.h>

#include <cerrno>
#include <memory>

#include "supervisor/base/disk_faults.h"
#include "supervisor/base/durable.h"
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
    auto heard = [this] { told++; };
    disk = std::make_unique<StateDisk>(loop, *thread, folder, failing, heard);
  }

  TempDirectory temp;
  std::string folder = temp.path().string();
  Loop loop;
  bool journal_failing = false;
  int told = 0;
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
    CHECK(scene.told == 0);
    CHECK_FALSE(scene.disk->trouble());
  }
}

TEST_CASE("a journal that cannot commit for want of space is, until it can", "[disk]") {
  DiskScene scene;
  scene.journal_failing = true;
  disk_faults::note(ENOSPC);
  REQUIRE(run_until(scene.loop, [&] { return scene.told == 1; }));
  REQUIRE(scene.disk->trouble());
  CHECK_THAT(scene.disk->trouble()->what, Catch::Matchers::Contains("No space left on device"));
  CHECK_THAT(scene.disk->trouble()->what, Catch::Matchers::Contains(scene.folder));
  CHECK_THAT(scene.disk->trouble()->remedy, Catch::Matchers::Contains("df -h " + scene.folder));
  scene.journal_failing = false;
  REQUIRE(run_until(scene.loop, [&] { return scene.told == 2; }));
  CHECK_FALSE(scene.disk->trouble());
}
