#include "supervisor/base/durable.h"

#include <fcntl.h>

#include "supervisor/base/fd.h"
#include "supervisor/base/worker_thread.h"
#include "tests/catch.h"
#include "tests/temp_directory.h"

TEST_CASE("waits for the disk are counted, and told apart when a loop waits", "[durable]") {
  TempDirectory temp;
  Fd file(::open((temp.path() / "file").c_str(), O_CREAT | O_WRONLY, 0600));
  const uint64_t before = durable::calls(), on_loop = durable::calls_on_loop();
  CHECK(durable::sync_data(file.get()) == 0);
  CHECK(durable::sync_file(file.get()) == 0);
  CHECK(durable::sync_file(-1) == EBADF);
  CHECK(durable::calls() - before == 3);
  CHECK(durable::calls_on_loop() == on_loop);  // no loop runs

  Loop loop;
  auto worker = WorkerThread::start(loop);
  REQUIRE(worker);
  auto waiting = [](WorkerThread& on, int fd, Loop& of) -> Task<> {
    const WorkerThread::Job job = [fd]() -> Result<> {
      return durable::sync_data(fd) == 0 ? Result<>() : fail(Code::internal, "sync");
    };
    auto done = co_await on.run(job);
    CHECK(done);
    of.stop();
  };
  loop.spawn(waiting(**worker, file.get(), loop));
  loop.run();
  CHECK(durable::calls() - before == 4);
  CHECK(durable::calls_on_loop() == on_loop);

  loop.defer([&] {
    durable::sync_data(file.get());
    loop.stop();
  });
  loop.run();
  CHECK(durable::calls() - before == 5);
  CHECK(durable::calls_on_loop() == on_loop + 1);
}
