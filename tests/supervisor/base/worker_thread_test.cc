#include "supervisor/base/worker_thread.h"

#include <atomic>
#include <chrono>
#include <future>
#include <latch>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/catch.h"

namespace {

Task<> run_and_note(WorkerThread& worker, WorkerThread::Job job, std::vector<std::string>& ends) {
  auto done = co_await worker.run(std::move(job));
  ends.push_back(done ? "done" : done.error().what);
}

}  // namespace

TEST_CASE("jobs run beside the loop, in their order, and their ends come back to it", "[worker]") {
  Loop loop;
  auto worker = WorkerThread::start(loop);
  REQUIRE(worker);
  const auto own = std::this_thread::get_id();
  std::vector<int> order;
  std::atomic<bool> elsewhere{true};
  std::vector<std::string> ends;
  for (int i = 0; i < 3; i++) {
    auto job = [&order, &elsewhere, own, i]() -> Result<> {
      order.push_back(i);
      if (std::this_thread::get_id() == own) elsewhere = false;
      if (i == 1) return fail(Code::unavailable, "the second fails");
      return {};
    };
    loop.spawn(run_and_note(**worker, job, ends));
  }
  auto thrown = []() -> Result<> { throw std::runtime_error("thrown"); };
  loop.spawn(run_and_note(**worker, thrown, ends));
  loop.run_until([&] { return ends.size() == 4; });
  CHECK(order == std::vector<int>{0, 1, 2});
  CHECK(elsewhere);
  REQUIRE(ends.size() == 4);
  CHECK(ends[0] == "done");
  CHECK(ends[1] == "the second fails");
  CHECK(ends[2] == "done");
  CHECK(ends[3] == "bug in a job of the worker thread: thrown");
}

TEST_CASE("a job that nobody waits for any more is not begun", "[worker]") {
  Loop loop;
  auto worker = WorkerThread::start(loop);
  REQUIRE(worker);
  std::latch started(1), may_end(1);
  std::vector<std::string> ends, order;
  auto first = [&]() -> Result<> {
    started.count_down();
    may_end.wait();
    return {};
  };
  auto noted = [&order](const char* name) {
    return [&order, name]() -> Result<> {
      order.emplace_back(name);
      return {};
    };
  };
  loop.spawn(run_and_note(**worker, first, ends));
  started.wait();
  {
    Scope asker(loop);
    asker.spawn(run_and_note(**worker, noted("dropped"), ends));
    asker.cancel_all();
  }
  loop.spawn(run_and_note(**worker, noted("last"), ends));
  may_end.count_down();
  loop.run_until([&] { return ends.size() == 2; });
  CHECK(order == std::vector<std::string>{"last"});
}

TEST_CASE("a worker thread that ends waits for the job that runs and drops those behind it", "[worker]") {
  Loop loop;
  std::atomic<int> started{0}, ended{0};
  {
    auto worker = WorkerThread::start(loop);
    REQUIRE(worker);
    std::vector<std::string> ends;
    auto job = [&started, &ended, thread = worker->get()]() -> Result<> {
      started++;
      while (!thread->is_ending()) std::this_thread::yield();
      ended++;
      return {};
    };
    loop.spawn(run_and_note(**worker, job, ends));
    loop.spawn(run_and_note(**worker, job, ends));
    while (started == 0) std::this_thread::yield();
    loop.cancel_all();
  }
  CHECK(started == 1);
  CHECK(ended == 1);
}

TEST_CASE("a thread without a job ends by itself", "[worker]") {
  Loop loop;
  auto worker = WorkerThread::start(loop);
  REQUIRE(worker);
  std::vector<std::string> ends;
  const auto over = std::make_shared<std::promise<void>>();
  const WorkerThread::Job note = [over]() -> Result<> {
    over->set_value_at_thread_exit();
    return {};
  };
  loop.spawn(run_and_note(**worker, note, ends));
  loop.run_until([&] { return ends.size() == 1; });
  (*worker)->end_unwatched();
  worker->reset();
  CHECK(over->get_future().wait_for(std::chrono::seconds(20)) == std::future_status::ready);
}
