#include "supervisor/base/task.h"

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "supervisor/base/loop.h"
#include "tests/catch.h"

namespace {

Task<int> ready(int n) { co_return n; }

Task<int> after(Event& event, int n) {
  co_await event;
  co_return n;
}

// Tells when it is destroyed.
struct Mark {
  std::vector<std::string>& log;
  std::string name;
  ~Mark() { log.push_back(name); }
};

Task<> marked(std::vector<std::string>& log, std::string name, Event& event) {
  Mark mark{log, name};
  co_await event;
  log.push_back(name + " went on");
}

template <class T>
T value_of(Task<T>& task) {
  return std::move(task).operator co_await().await_resume();
}

Task<> buggy() {
  throw std::runtime_error("bug");
  co_return;
}

}  // namespace

TEST_CASE("a task does nothing until it is awaited or started", "[task]") {
  bool ran = false;
  auto work = [](bool& flag) -> Task<> {
    flag = true;
    co_return;
  };
  auto task = work(ran);
  CHECK_FALSE(ran);
  task.resume();
  CHECK(ran);
  CHECK(task.done());
}

TEST_CASE("ready work completes inline, however often it is awaited", "[task]") {
  // With a call per await on the stack this many would overflow it.
  auto sum = []() -> Task<int64_t> {
    int64_t total = 0;
    for (int i = 0; i < 1'000'000; i++) {
      const int n = co_await ready(i);
      total += n;
    }
    co_return total;
  };
  auto task = sum();
  task.resume();
  REQUIRE(task.done());
  CHECK(value_of(task) == 499999500000);
}

TEST_CASE("a task suspends where it waits and goes on with the value", "[task]") {
  Event event;
  auto outer = [](Event& e) -> Task<std::string> {
    const int n = co_await after(e, 7);
    co_return std::to_string(n);
  };
  auto task = outer(event);
  task.resume();
  CHECK_FALSE(task.done());
  event.fire();
  REQUIRE(task.done());
  CHECK(value_of(task) == "7");
}

TEST_CASE("destroying a task destroys its locals where it waits, inner ones first", "[task]") {
  std::vector<std::string> log;
  Event event;
  {
    auto outer = [](std::vector<std::string>& l, Event& e) -> Task<> {
      Mark mark{l, "outer"};
      co_await marked(l, "inner", e);
      l.push_back("outer went on");
    };
    auto task = outer(log, event);
    task.resume();
    CHECK(log.empty());
  }
  CHECK(log == std::vector<std::string>{"inner", "outer"});
  event.fire();  // nobody waits any more
  CHECK(log.size() == 2);
}

TEST_CASE("a task that never ran is destroyed as quietly", "[task]") {
  std::vector<std::string> log;
  Event event;
  { auto task = marked(log, "never", event); }
  CHECK(log.empty());
}

TEST_CASE("started tasks run side by side and are collected later", "[task]") {
  Event first, second;
  auto both = [](Event& a, Event& b) -> Task<int> {
    auto item = start(after(a, 1));
    auto two = start(after(b, 20));
    const int x = co_await item;
    const int y = co_await two;
    co_return x + y;
  };
  auto task = both(first, second);
  task.resume();
  second.fire();
  CHECK_FALSE(task.done());
  first.fire();
  REQUIRE(task.done());
  CHECK(value_of(task) == 21);
}

TEST_CASE("a started task that is not collected is cancelled with its owner", "[task]") {
  std::vector<std::string> log;
  Event event;
  auto owner = [](std::vector<std::string>& l, Event& e) -> Task<> {
    auto beside = start(marked(l, "beside", e));
    l.push_back("owner ends");
    co_return;
  };
  auto task = owner(log, event);
  task.resume();
  CHECK(log == std::vector<std::string>{"owner ends", "beside"});
}

TEST_CASE("an exception surfaces at the co_await", "[task]") {
  auto outer = []() -> Task<std::string> {
    std::string caught = "nothing";
    try {
      co_await buggy();
    } catch (const std::exception& e) {
      caught = e.what();
    }
    co_return caught;
  };
  auto task = outer();
  task.resume();
  REQUIRE(task.done());
  CHECK(value_of(task) == "bug");
}

TEST_CASE("an exception after a wait surfaces as well", "[task]") {
  Event event;
  auto late = [](Event& e) -> Task<int> {
    co_await e;
    throw std::runtime_error("late");
  };
  auto outer = [late](Event& e) -> Task<std::string> {
    auto inner = late(e);
    std::string caught;
    try {
      co_await std::move(inner);
    } catch (const std::exception& x) {
      caught = x.what();
    }
    co_return caught;
  };
  auto task = outer(event);
  task.resume();
  event.fire();
  REQUIRE(task.done());
  CHECK(value_of(task) == "late");
}

TEST_CASE("values that only move pass through tasks", "[task]") {
  auto make = [](std::unique_ptr<int> n) -> Task<std::unique_ptr<int>> { co_return n; };
  auto use = [make]() -> Task<int> {
    auto task = make(std::make_unique<int>(5));
    auto box = co_await std::move(task);
    co_return *box;
  };
  auto task = use();
  task.resume();
  CHECK(value_of(task) == 5);
}

TEST_CASE("an event fired early is remembered", "[task]") {
  Event event;
  event.fire();
  CHECK(event.fired());
  auto task = after(event, 3);
  task.resume();
  REQUIRE(task.done());
  CHECK(value_of(task) == 3);
}
