// BusyTime: the longest turn of the last minutes, the work that took most of it, and for whom.
#include "supervisor/base/busy_time.h"

#include <optional>

#include "supervisor/base/loop.h"
#include "tests/catch.h"

using namespace std::chrono_literals;

namespace {

Monotonic::time_point now;  // of the clock that these tests set

struct BusyTimeScene {
  BusyTimeScene() : time([] { return now; }) {
    now = Monotonic::time_point(1000h);
    NamedWork::of_this_thread = &time;
  }
  ~BusyTimeScene() { NamedWork::of_this_thread = nullptr; }
  // A turn with nothing but this.
  void turn(LoopWork work, BusyTime::Span takes, const std::string& recipient = "somebody") {
    {
      const NamedWork named_work(work, &recipient);
      now += takes;
    }
    time.end_turn();
  }
  BusyTime time;
};

}  // namespace

TEST_CASE("a turn is as long as all that was done between two waits", "[busy]") {
  BusyTimeScene scene;
  const std::string name = "one";
  {
    const NamedWork named_work(LoopWork::client_message, &name);
    now += 20ms;
  }
  now += 5ms;  // between two callbacks
  {
    const NamedWork named_work(LoopWork::bus);
    now += 10ms;
  }
  CHECK(scene.time.longest().busy == 0ms);  // it has not ended
  scene.time.end_turn();
  now += 1s;  // it waits
  const auto longest = scene.time.longest();
  CHECK(longest.busy == 35ms);
  CHECK(longest.work == LoopWork::client_message);
  CHECK(longest.worked == 20ms);
  CHECK(longest.whom == "one");
  CHECK(longest.at > 0);
  scene.time.end_turn();  // without any work
  CHECK(scene.time.longest().busy == 35ms);
}

TEST_CASE("work within other work is its own, and for the same tenant unless it names one", "[busy]") {
  BusyTimeScene scene;
  const std::string name = "one", two = "two";
  {
    const NamedWork outer(LoopWork::client_message, &name);
    now += 3ms;
    {
      const NamedWork inner(LoopWork::arguments);
      now += 30ms;
    }
    now += 3ms;
  }
  scene.time.end_turn();
  CHECK(scene.time.longest().work == LoopWork::arguments);
  CHECK(scene.time.longest().worked == 30ms);
  CHECK(scene.time.longest().whom == "one");
  {
    const NamedWork outer(LoopWork::client_message, &name);
    const NamedWork inner(LoopWork::arguments, &two);
    now += 40ms;
  }
  scene.time.end_turn();
  CHECK(scene.time.longest().whom == "two");
}

TEST_CASE("many short pieces of one kind are what caused a turn, and nobody in particular", "[busy]") {
  BusyTimeScene scene;
  const std::string whom[] = {"one", "two", "three"};
  {
    const NamedWork named_work(LoopWork::search, &whom[0]);
    now += 12ms;
  }
  for (const std::string& name : whom) {
    const NamedWork named_work(LoopWork::answer, &name);
    now += 10ms;
  }
  scene.time.end_turn();
  const auto longest = scene.time.longest();
  CHECK(longest.work == LoopWork::answer);
  CHECK(longest.worked == 30ms);
  CHECK(longest.whom.empty());
}

TEST_CASE("a longer turn takes the place of a shorter one, not the other way round", "[busy]") {
  BusyTimeScene scene;
  scene.turn(LoopWork::journal, 5ms);
  scene.turn(LoopWork::search, 50ms);
  scene.turn(LoopWork::metrics, 20ms);
  CHECK(scene.time.longest().work == LoopWork::search);
  now += 61s;
  scene.turn(LoopWork::metrics, 20ms);
  CHECK(scene.time.longest().work == LoopWork::search);
}

TEST_CASE("a turn is forgotten after ten minutes, and a lesser one of later is the longest then", "[busy]") {
  BusyTimeScene scene;
  scene.turn(LoopWork::search, 50ms);
  now += 5min;
  scene.turn(LoopWork::metrics, 20ms);
  CHECK(scene.time.longest().work == LoopWork::search);
  now += 4min;  // nine in all
  CHECK(scene.time.longest().work == LoopWork::search);
  now += 1min;
  CHECK(scene.time.longest().work == LoopWork::metrics);
  now += 10min;  // whatever stood there is of another time
  scene.turn(LoopWork::bus, 1ms);
  CHECK(scene.time.longest().work == LoopWork::bus);
  now += 10min;
  CHECK(scene.time.longest().busy == 0ms);
}

TEST_CASE("what was before forget() does not count, nor does the turn under way", "[busy]") {
  BusyTimeScene scene;
  scene.turn(LoopWork::search, 50ms);
  {
    const NamedWork named_work(LoopWork::policies);
    now += 30ms;
    scene.time.forget();
    now += 30ms;
  }
  scene.time.end_turn();
  CHECK(scene.time.longest().busy == 0ms);
  scene.turn(LoopWork::bus, 1ms);
  CHECK(scene.time.longest().busy == 1ms);
}

TEST_CASE("names that do not end in the order in which they began cost the turn its names and nothing more", "[busy]") {
  BusyTimeScene scene;
  std::optional<std::string> removed = "gone";
  std::optional<NamedWork> work;
  {
    const NamedWork named_work(LoopWork::search);
    now += 2ms;
    work.emplace(LoopWork::answer, &*removed);  // as in a coroutine that is suspended
    now += 2ms;
  }
  work.reset();
  removed.reset();
  {
    const NamedWork named_work(LoopWork::bus);
    now += 20ms;
  }
  scene.time.end_turn();
  CHECK(scene.time.longest().busy == 24ms);
  CHECK(scene.time.longest().work == LoopWork::bus);
  scene.turn(LoopWork::journal, 30ms, "later");
  CHECK(scene.time.longest().whom == "later");
}

TEST_CASE("a loop counts its turns by itself, whatever calls it, and no other thread's", "[busy]") {
  Loop loop;
  const std::string recipient = "a tenant";
  loop.defer([&] {
    const NamedWork named_work(LoopWork::search, &recipient);
    for (const auto until = Monotonic::now() + 2ms; Monotonic::now() < until;) {
    }
    loop.defer([&] { loop.stop(); });
  });
  loop.run();
  const auto longest = loop.busy_time().longest();
  CHECK(longest.busy >= 2ms);
  CHECK(longest.worked >= 2ms);
  CHECK(longest.work == LoopWork::search);
  CHECK(longest.whom == "a tenant");

  NamedWork outside(LoopWork::jail, &recipient);  // no loop runs: nothing happens
  CHECK(NamedWork::of_this_thread == nullptr);
}

TEST_CASE("every work has a name for metrics and a text for people, all different", "[busy]") {
  for (size_t i = 0; i < kWorks; i++) {
    const auto work = static_cast<LoopWork>(i);
    CHECK(work_name(work).find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string_view::npos);
    CHECK(work_text(work).size() > 5);
    for (size_t j = 0; j < i; j++) CHECK(work_name(work) != work_name(static_cast<LoopWork>(j)));
  }
  CHECK(work_name(LoopWork::doctor) == "doctor");
}
