#include "supervisor/base/one_shot.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "tests/catch.h"

namespace {

// A task that waits for one value, and two resolvers.
struct OneShotScene {
  using Value = std::shared_ptr<const int>;
  using Shot = OneShot<Value>;

  Loop loop;
  Value one = std::make_shared<const int>(1), two = std::make_shared<const int>(2);
  Value otherwise = std::make_shared<const int>(0);
  Shot::Resolver first, second;
  std::vector<int> got;
  bool on_stack = false;  // a resolver's call is under way
  bool resumed_inline = false;
  std::optional<Task<>> task;

  explicit OneShotScene(bool begins = true) {
    task.emplace(waits());
    task->resume();
    if (begins) begin();
  }
  ~OneShotScene() { task.reset(); }
  Event started;

  Task<> waits() {
    Shot shot(loop, otherwise);
    first = shot.resolver();
    second = first;
    co_await started;
    const Value value = co_await shot;
    resumed_inline = on_stack;
    got.push_back(*value);
  }
  void begin() { started.fire(); }
  void turn() {
    for (int i = 0; i < 3; i++) uv_run(loop.uv(), UV_RUN_NOWAIT);
  }
  // No copy of a value is left, except those of this scene.
  bool all_freed() const { return one.use_count() == 1 && two.use_count() == 1; }
};

}  // namespace

TEST_CASE("a value reaches the waiting task in a later turn, not on the stack of the resolver", "[one_shot]") {
  OneShotScene scene;
  scene.first.resolve(scene.one);
  CHECK(scene.got.empty());
  CHECK_FALSE(scene.first.is_wanted());
  scene.turn();
  CHECK(scene.got == std::vector<int>{1});
  CHECK(scene.all_freed());
}

TEST_CASE("resolve_now resumes the task before it returns", "[one_shot]") {
  OneShotScene scene;
  scene.on_stack = true;
  scene.first.resolve_now(scene.one);
  CHECK(scene.got == std::vector<int>{1});
  CHECK(scene.resumed_inline);
  scene.second.resolve_now(scene.two);
  scene.turn();
  CHECK(scene.got == std::vector<int>{1});
  CHECK(scene.all_freed());
}

TEST_CASE("the first value counts, also while its task has not resumed yet", "[one_shot]") {
  OneShotScene scene;
  scene.first.resolve(scene.one);
  scene.second.resolve(scene.two);
  scene.second.resolve_now(scene.two);
  CHECK(scene.two.use_count() == 1);
  CHECK(scene.got.empty());
  scene.turn();
  CHECK(scene.got == std::vector<int>{1});
}

TEST_CASE("a value that was set early is taken without a wait", "[one_shot]") {
  OneShotScene scene(false);
  scene.first.resolve(scene.one);
  scene.turn();
  CHECK(scene.got.empty());
  scene.begin();
  CHECK(scene.got == std::vector<int>{1});
}

TEST_CASE("when the last resolver is destroyed, the task gets the value `otherwise`", "[one_shot]") {
  OneShotScene scene;
  CHECK(scene.first.is_wanted());
  scene.first = {};
  scene.turn();
  CHECK(scene.got.empty());
  CHECK(scene.second.is_wanted());
  scene.second = {};
  CHECK(scene.got.empty());
  scene.turn();
  CHECK(scene.got == std::vector<int>{0});
}

TEST_CASE("a task that waits without any resolver gets the value `otherwise` at once", "[one_shot]") {
  Loop loop;
  int got = 0;
  auto waits = [](Loop& on, int& to) -> Task<> {
    OneShot<int> shot(on, 7);
    to = co_await shot;
  };
  auto task = waits(loop, got);
  task.resume();
  CHECK(got == 7);
}

TEST_CASE("a resolver without a one-shot has no effect", "[one_shot]") {
  OneShot<>::Resolver none;
  CHECK_FALSE(none.is_wanted());
  none.resolve();
  none.resolve_now();
  OneShot<std::string>::Resolver late;
  {
    Loop loop;
    OneShot<std::string> shot(loop);
    late = shot.resolver();
  }
  CHECK_FALSE(late.is_wanted());
  late.resolve("after the end of the loop");
  late.resolve_now("after the end of the loop");
}

TEST_CASE("a one-shot may be destroyed before the task that waits for it", "[one_shot]") {
  Loop loop;
  int got = 0;
  auto shot = std::make_unique<OneShot<int>>(loop, 7);
  const auto resolver = shot->resolver();
  auto waits = [](OneShot<int>& of, int& to) -> Task<> { to = co_await of; };
  auto task = waits(*shot, got);
  task.resume();
  shot.reset();
  SECTION("and the value comes") {
    resolver.resolve_now(3);
    CHECK(got == 3);
  }
  SECTION("and no value comes") {}
}

TEST_CASE("a value can be something that cannot be copied, and is destroyed with a cancelled task", "[one_shot]") {
  Loop loop;
  struct Waits {
    static Task<> go(Loop& loop, OneShot<std::unique_ptr<OneShotScene>>::Resolver& resolver) {
      OneShot<std::unique_ptr<OneShotScene>> shot(loop);
      resolver = shot.resolver();
      (void)co_await shot;
    }
  };
  OneShot<std::unique_ptr<OneShotScene>>::Resolver resolver;
  std::optional<Task<>> task(Waits::go(loop, resolver));
  task->resume();
  resolver.resolve(std::make_unique<OneShotScene>());
  task.reset();
}

TEST_CASE("the value of a cancelled task may itself call the loop when it is destroyed", "[one_shot]") {
  Loop loop;
  int calls = 0;
  struct Calls {
    Loop* loop;
    int* calls;
    Calls(Loop* on, int* at) : loop(on), calls(at) {}
    Calls(Calls&& other) noexcept : loop(other.loop), calls(std::exchange(other.calls, nullptr)) {}
    ~Calls() {
      if (calls) loop->defer([at = calls] { ++*at; });
    }
  };
  using Shot = OneShot<std::optional<Calls>>;
  Shot::Resolver resolver;
  auto waits = [](Loop& on, Shot::Resolver& to) -> Task<> {
    Shot shot(on);
    to = shot.resolver();
    (void)co_await shot;
  };
  std::optional<Task<>> task(waits(loop, resolver));
  task->resume();
  resolver.resolve(std::optional<Calls>(std::in_place, &loop, &calls));
  task.reset();
  for (int i = 0; i < 3; i++) uv_run(loop.uv(), UV_RUN_NOWAIT);
  CHECK(calls == 1);
}

// All 5,040 orders of seven steps, against a model in a few lines.
TEST_CASE("values, destruction and cancellation are safe in every order", "[one_shot]") {
  enum Step { begin, first_value, second_value, first_gone, second_gone, cancel, turn };
  std::vector<Step> steps{begin, first_value, second_value, first_gone, second_gone, cancel, turn};
  size_t wrong = 0, claimed = 0, fell_back = 0, cancelled = 0;
  do {
    OneShotScene scene(false);
    bool start = false, first = true, second = true, is_cancelled = false;
    std::optional<int> value, got;
    bool pending = false;  // the task resumes in the next turn
    const auto set = [&](int to) {
      if (value || is_cancelled) return;
      value = to;
      pending = start;
    };
    for (const Step step : steps) {
      switch (step) {
        case begin:
          if (!is_cancelled) scene.begin();
          start = !is_cancelled;
          if (start && value) got = value;
          break;
        case first_value:
          scene.first.resolve(scene.one);
          if (first) set(1);
          break;
        case second_value:
          scene.second.resolve(scene.two);
          if (second) set(2);
          break;
        case first_gone:
          scene.first = {};
          first = false;
          if (!second) set(0);
          break;
        case second_gone:
          scene.second = {};
          second = false;
          if (!first) set(0);
          break;
        case cancel:
          scene.task.reset();
          is_cancelled = true;
          break;
        case turn:
          scene.turn();
          if (pending && !is_cancelled) got = value;
          break;
      }
      if (scene.got != (got ? std::vector<int>{*got} : std::vector<int>{})) wrong++;
    }
    if (!scene.all_freed()) wrong++;
    (!got ? cancelled : *got == 0 ? fell_back : claimed)++;
  } while (std::next_permutation(steps.begin(), steps.end()));
  CHECK(wrong == 0);
  CHECK(claimed > 500);
  CHECK(fell_back > 50);
  CHECK(cancelled > 500);
}
