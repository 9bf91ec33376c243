// Work: jobs run beside the loop, owners take turns and are held to their own budgets, and nobody is woken who
// left.
#include "supervisor/base/work.h"

#include <atomic>
#include <thread>

#include "tests/catch.h"

using namespace std::chrono_literals;

namespace {

Result<int> answer_of(int number) { return number; }

Task<> run_one(Work& work, Work::Owner owner, size_t bytes, int number, std::vector<int>& done) {
  std::function<Result<int>()> job = [number] { return answer_of(number); };
  auto got = co_await work.run<int>(std::move(owner), bytes, std::move(job));
  if (got) done.push_back(*got);
}

// A job that waits until it is let go, so that what comes after it queues up.
Task<> block(Work& work, std::string name, std::shared_ptr<std::atomic<bool>> let_go) {
  std::function<Result<int>()> job = [let_go]() -> Result<int> {
    while (!*let_go) std::this_thread::sleep_for(1ms);
    return 0;
  };
  Work::Owner owner{std::move(name), UINT64_MAX};
  (void)co_await work.run<int>(std::move(owner), 0, std::move(job));
}

}  // namespace

TEST_CASE("a job runs on another thread, and what it returns comes back", "[work]") {
  Loop loop;
  Work work(loop);
  std::optional<std::thread::id> where;
  auto ask = [](Work& by, std::optional<std::thread::id>& seen) -> Task<> {
    std::function<Result<std::thread::id>()> job = []() -> Result<std::thread::id> {
      return std::this_thread::get_id();
    };
    Work::Owner owner{"a"};
    auto got = co_await by.run<std::thread::id>(std::move(owner), 1, std::move(job));
    REQUIRE(got);
    seen = *got;
  };
  loop.spawn(ask(work, where));
  loop.run_until([&] { return where.has_value(); });
  CHECK(*where != std::this_thread::get_id());
}

TEST_CASE("an error of a job and an exception come back as errors", "[work]") {
  Loop loop;
  Work work(loop);
  std::vector<std::string> reply;
  auto ask = [](Work& by, bool throws, std::vector<std::string>& received) -> Task<> {
    std::function<Result<int>()> job = [throws]() -> Result<int> {
      if (throws) throw std::runtime_error("thrown");
      return fail(Code::invalid, "returned");
    };
    Work::Owner owner{"a"};
    auto got = co_await by.run<int>(std::move(owner), 1, std::move(job));
    REQUIRE(!got);
    received.push_back(got.error().what);
  };
  loop.spawn(ask(work, false, reply));
  loop.spawn(ask(work, true, reply));
  loop.run_until([&] { return reply.size() == 2; });
  CHECK(reply[0] == "returned");
  CHECK(reply[1].ends_with("thrown"));
}

TEST_CASE("owners take turns, and each one's jobs keep their order", "[work]") {
  Loop loop;
  Work work(loop);
  auto let_go = std::make_shared<std::atomic<bool>>(false);
  // Every thread is busy while the others come.
  for (unsigned i = 0; i < 8; i++) loop.spawn(block(work, "blocker" + std::to_string(i), let_go));
  std::vector<int> done;
  for (int i = 0; i < 50; i++) loop.spawn(run_one(work, {"flood", UINT64_MAX}, 1000, i, done));
  loop.spawn(run_one(work, {"small", UINT64_MAX}, 1, 1000, done));
  loop.defer([let_go] { *let_go = true; });
  loop.run_until([&] { return done.size() == 51; });
  const auto small = std::find(done.begin(), done.end(), 1000);
  CHECK(small - done.begin() <= 3);  // at most what was at work, and one turn
  done.erase(small);
  CHECK(std::is_sorted(done.begin(), done.end()));
}

TEST_CASE("who has used up a budget waits, and nobody else", "[work]") {
  Loop loop;
  Work work(loop);
  std::vector<int> done;
  constexpr uint64_t kNever = 1;                                       // byte a second
  loop.spawn(run_one(work, {"spender", kNever}, 1'000'000, 1, done));  // overdrawn for eleven days
  loop.spawn(run_one(work, {"spender", kNever}, 1, 2, done));
  for (int i = 0; i < 20; i++) loop.spawn(run_one(work, {"other", UINT64_MAX}, 1'000'000, 100 + i, done));
  loop.run_until([&] { return done.size() == 21; });
  CHECK(std::find(done.begin(), done.end(), 2) == done.end());
  CHECK(work.waiting() == 1);
}

TEST_CASE("a budget fills again", "[work]") {
  Loop loop;
  Work work(loop);
  std::vector<int> done;
  for (int i = 0; i < 3; i++) loop.spawn(run_one(work, {"one", 1000}, 1010, i, done));
  loop.run_until([&] { return done.size() == 3; });  // after 20 ms and more, at a thousand bytes a second
  CHECK(done == std::vector{0, 1, 2});
}

TEST_CASE("a job nobody waits for any more is dropped, or ends without waking anybody", "[work]") {
  Loop loop;
  Work work(loop);
  auto let_go = std::make_shared<std::atomic<bool>>(false);
  auto ran = std::make_shared<std::atomic<int>>(0);
  auto count = [](Work& by, std::shared_ptr<std::atomic<int>> counter) -> Task<> {
    std::function<Result<int>()> job = [counter]() -> Result<int> { return ++*counter; };
    Work::Owner owner{"a"};
    (void)co_await by.run<int>(std::move(owner), 1, std::move(job));
    *counter += 1000;  // woken: it must not be
  };
  std::optional<Scope> scope(loop);
  scope->spawn(block(work, "a", let_go));
  scope->spawn(count(work, ran));
  scope.reset();
  *let_go = true;
  std::vector<int> done;
  loop.spawn(run_one(work, {"a"}, 1, 7, done));
  loop.run_until([&] { return !done.empty(); });
  CHECK(done == std::vector{7});
  CHECK(*ran == 0);
}

TEST_CASE("what a job owns that nobody waits for any more is freed on a thread, whatever its owner's budget",
          "[work]") {
  struct Owned {
    explicit Owned(std::shared_ptr<std::optional<std::thread::id>> at) : where(std::move(at)) {}
    ~Owned() { *where = std::this_thread::get_id(); }
    std::shared_ptr<std::optional<std::thread::id>> where;
  };
  Loop loop;
  auto where = std::make_shared<std::optional<std::thread::id>>();
  std::optional<Work> created(loop);
  Work& work = *created;
  std::vector<int> done;
  loop.spawn(run_one(work, {"spender", 1}, 1'000'000, 1, done));  // overdrawn for eleven days
  loop.run_until([&] { return done.size() == 1; });
  auto ask = [](Work& by, std::shared_ptr<Owned> owned) -> Task<> {
    std::function<Result<int>()> job = [owned = std::move(owned)]() -> Result<int> { return 0; };
    Work::Owner owner{"spender", 1};
    (void)co_await by.run<int>(std::move(owner), 1, std::move(job));
  };
  std::optional<Scope> scope(loop);
  scope->spawn(ask(work, std::make_shared<Owned>(where)));
  scope.reset();
  loop.spawn(run_one(work, {"other"}, 1, 2, done));
  loop.spawn(run_one(work, {"other"}, 1, 3, done));
  loop.run_until([&] { return work.is_idle() && done.size() == 3; });
  created.reset();  // joins
  REQUIRE(*where);
  CHECK(**where != std::this_thread::get_id());
}

namespace {

// A job that works until its meter ends it, or until it is let go.
Task<> spin(Work& work, std::string name, std::shared_ptr<std::atomic<bool>> let_go, std::vector<Error>& ended) {
  std::function<Result<int>(WorkMeter&)> job = [let_go](WorkMeter& meter) -> Result<int> {
    while (!*let_go)
      if (!meter.spend(100)) return tl::unexpected<Error>(meter.error());
    return 0;
  };
  Work::Owner owner{std::move(name)};
  auto result = co_await work.run(std::move(owner), 0, std::move(job));
  if (!result) ended.push_back(result.error());
}

}  // namespace

TEST_CASE("a job that would work without end is ended, and its error says why", "[work]") {
  Loop loop;
  Work work(loop);
  std::vector<Error> ended;
  loop.spawn(spin(work, "a", std::make_shared<std::atomic<bool>>(false), ended));
  loop.run_until([&] { return !ended.empty(); });
  CHECK(ended[0].code == Code::exhausted);
  CHECK_THAT(ended[0].what, Catch::Contains("more than 1000 ms of processor time"));
}

TEST_CASE("short jobs do not wait behind the long jobs of others", "[work]") {
  Loop loop;
  Work work(loop);
  auto let_go = std::make_shared<std::atomic<bool>>(false);
  std::vector<Error> ended;
  for (int i = 0; i < 6; i++) loop.spawn(spin(work, "long " + std::to_string(i), let_go, ended));
  std::vector<int> done;
  loop.spawn(run_one(work, {"short"}, 1, 7, done));
  loop.run_until([&] { return !done.empty(); });
  CHECK(ended.size() < 6);  // some of the long jobs still run
  *let_go = true;
}

TEST_CASE("a running job ends soon after its caller has left", "[work]") {
  Loop loop;
  Work work(loop);
  auto is_over = std::make_shared<std::atomic<bool>>(false);
  auto ask = [](Work& by, std::shared_ptr<std::atomic<bool>> over) -> Task<> {
    std::function<Result<int>(WorkMeter&)> job = [over](WorkMeter& meter) -> Result<int> {
      while (meter.spend(100)) {
      }
      *over = meter.error().code == Code::unavailable;
      return 0;
    };
    Work::Owner owner{"a"};
    (void)co_await by.run(std::move(owner), 0, std::move(job));
  };
  std::optional<Scope> scope(loop);
  scope->spawn(ask(work, is_over));
  scope.reset();
  std::vector<int> done;
  loop.spawn(run_one(work, {"a"}, 1, 7, done));  // after that job
  loop.run_until([&] { return !done.empty(); });
  CHECK(*is_over);
}

TEST_CASE("processor time is a budget, too", "[work]") {
  Loop loop;
  Work work(loop, 1ms);  // a job of a second uses the budget of a quarter of an hour
  std::vector<Error> ended;
  std::vector<int> done;
  loop.spawn(spin(work, "spender", std::make_shared<std::atomic<bool>>(false), ended));
  loop.spawn(run_one(work, {"spender"}, 1, 1, done));
  loop.run_until([&] { return !ended.empty(); });
  for (int i = 0; i < 20; i++) loop.spawn(run_one(work, {"other"}, 1, 100 + i, done));
  loop.run_until([&] { return done.size() == 20; });
  CHECK(std::find(done.begin(), done.end(), 1) == done.end());
  CHECK(work.waiting() == 1);
}

TEST_CASE("it ends although a job does not", "[work]") {
  Loop loop;
  auto let_go = std::make_shared<std::atomic<bool>>(false);
  auto was_started = std::make_shared<std::atomic<bool>>(false);
  auto ask = [](Work& by, std::shared_ptr<std::atomic<bool>> started,
                std::shared_ptr<std::atomic<bool>> end) -> Task<> {
    std::function<Result<int>()> job = [started, end]() -> Result<int> {
      *started = true;
      started->notify_one();
      end->wait(false);
      return 0;
    };
    Work::Owner owner{"a"};
    (void)co_await by.run(std::move(owner), 0, std::move(job));
  };
  CHECK_FALSE(WorkerThread::any_left_alone());
  {
    Work work(loop);
    Scope scope(loop);
    scope.spawn(ask(work, was_started, let_go));
    was_started->wait(false);
  }
  CHECK(WorkerThread::any_left_alone());
  *let_go = true;
  let_go->notify_one();
}

TEST_CASE("it ends while a job is at work and others wait", "[work]") {
  Loop loop;
  auto let_go = std::make_shared<std::atomic<bool>>(false);
  std::vector<int> done;
  {
    Work work(loop);
    Scope scope(loop);
    scope.spawn(block(work, "a", let_go));
    scope.spawn(run_one(work, {"a"}, 1, 1, done));
    *let_go = true;
  }
  CHECK(done.empty());
}

TEST_CASE("a large value is freed on a thread, before the jobs that wait", "[work]") {
  struct Seen {
    explicit Seen(std::shared_ptr<std::optional<std::thread::id>> where) : where_(std::move(where)) {}
    Seen(Seen&&) = default;
    ~Seen() {
      if (where_) *where_ = std::this_thread::get_id();
    }
    std::shared_ptr<std::optional<std::thread::id>> where_;
  };
  Loop loop;
  auto let_go = std::make_shared<std::atomic<bool>>(false);
  Work work(loop);
  std::vector<std::shared_ptr<std::optional<std::thread::id>>> freed_by;
  for (int i = 0; i < 3; i++) freed_by.push_back(std::make_shared<std::optional<std::thread::id>>());
  for (unsigned i = 0; i < 8; i++) loop.spawn(block(work, "blocker", let_go));
  for (unsigned i = 0; i < 8; i++) loop.spawn(block(work, "another", let_go));
  bool all_freed_before = false;
  auto check = [&]() -> Task<> {
    std::function<Result<bool>()> job = [freed_by]() -> Result<bool> {
      return std::all_of(freed_by.begin(), freed_by.end(), [](const auto& item) { return item->has_value(); });
    };
    Work::Owner owner{"looks"};
    auto got = co_await work.run<bool>(std::move(owner), 0, std::move(job));
    all_freed_before = got.value_or(false);
  };
  bool checked = false;
  auto task = [&]() -> Task<> {
    co_await check();
    checked = true;
  };
  loop.spawn(task());
  for (const auto& item : freed_by) work.free_elsewhere(Seen(item));
  *let_go = true;
  loop.run_until([&] { return checked; });
  CHECK(all_freed_before);
  for (const auto& item : freed_by) CHECK(*item != std::this_thread::get_id());
}
