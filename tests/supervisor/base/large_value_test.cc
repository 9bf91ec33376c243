// LargeValue: what is large is written and freed beside the loop, and what is small is not.
#include "supervisor/base/large_value.h"

#include <atomic>
#include <thread>

#include "supervisor/base/json/json.h"
#include "tests/catch.h"

using namespace std::chrono_literals;

namespace {

Json lists(size_t count) { return Json(std::vector<Json>(count, Json::array())); }

// Keeps the threads busy, so that what is given to them can be counted.
class Blocked {
 public:
  explicit Blocked(Work& work, Loop& loop) {
    for (int i = 0; i < 4; i++) loop.spawn(block(work, "blocker " + std::to_string(i), let_go_));
    while (work.waiting() == 0) loop.spawn(block(work, "blocker " + std::to_string(count_++), let_go_));
    before = work.waiting();
  }
  ~Blocked() { *let_go_ = true; }
  size_t before = 0;

 private:
  static Task<> block(Work& work, std::string name, std::shared_ptr<std::atomic<bool>> let_go) {
    std::function<Result<int>()> job = [let_go]() -> Result<int> {
      while (!*let_go) std::this_thread::sleep_for(1ms);
      return 0;
    };
    Work::Owner owner{std::move(name)};
    (void)co_await work.run<int>(std::move(owner), 0, std::move(job));
  }
  std::shared_ptr<std::atomic<bool>> let_go_ = std::make_shared<std::atomic<bool>>(false);
  int count_ = 4;
};

Task<> write(Work& work, Json value, std::optional<std::string>& into) {
  Work::Owner owner{"a"};
  auto text = co_await dump_beside(work, std::move(owner), std::move(value));
  REQUIRE(text);
  into = *text;
}

}  // namespace

TEST_CASE("a value is large by what it takes as JSON", "[work]") {
  CHECK_FALSE(is_large(Json()));
  CHECK_FALSE(is_large(Json(std::string(1000, 'x'))));
  CHECK(is_large(Json(std::string(Work::kSmall + 1, 'x'))));
  CHECK_FALSE(is_large(lists(1000)));
  CHECK(is_large(lists(Work::kSmall)));
  CHECK(is_large(Json{{std::string(Work::kSmall, 'k'), 1}}));
}

TEST_CASE("a large value is freed beside the loop by whoever held it last, a small one at once", "[work]") {
  Loop loop;
  Work work(loop);
  const Blocked blocked(work, loop);
  { const FreedBeside freed_beside(&work, lists(100)); }
  { const FreedBeside freed_beside(&work, Json(std::string(1 << 20, 'x'))); }  // one piece of memory
  { const FreedBeside freed_beside(nullptr, lists(100'000)); }
  CHECK(work.waiting() == blocked.before);
  {
    FreedBeside freed_beside(&work, lists(100'000));
    FreedBeside moved(std::move(freed_beside));
    CHECK((*moved).size() == 100'000);
    CHECK(work.waiting() == blocked.before);
  }
  CHECK(work.waiting() == blocked.before + 1);  // once
  {
    FreedBeside freed_beside(&work, lists(100'000));
    const Json reserved = std::move(*freed_beside);
    CHECK(reserved.size() == 100'000);
  }
  CHECK(work.waiting() == blocked.before + 1);
  Json rest = lists(100'000);
  { const FreesBeside frees(&work, rest); }
  CHECK(rest.is_null());
  CHECK(work.waiting() == blocked.before + 2);
}

TEST_CASE("a value is written beside the loop as it is on it", "[work]") {
  Loop loop;
  Work work(loop);
  const Json value = {{"lists", lists(50'000)}, {"text", "\"\n\xff"}};
  std::optional<std::string> text;
  loop.spawn(write(work, value, text));
  loop.run_until([&] { return text.has_value(); });
  CHECK(*text == dump_json(value));
}

TEST_CASE("what has many values is not read by the loop, however short it is", "[work]") {
  auto of_lists = [](size_t count) {
    std::string lists = "[]";
    while (lists.size() < 3 * count) lists += ",[]";
    return R"({"type":"call","id":1,"name":"a","arguments":{"a":[)" + lists + "]}}";
  };
  CHECK(is_read_quickly(of_lists(100)));
  CHECK_FALSE(is_read_quickly(of_lists(1000)));
  CHECK(is_read_quickly(R"({"type":"result","value":")" + std::string(60'000, 'x') + R"("})"));
  CHECK_FALSE(is_read_quickly(R"({"type":"result","value":")" + std::string(70'000, 'x') + R"("})"));
}
