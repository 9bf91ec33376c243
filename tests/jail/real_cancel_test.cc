// Cancellation is the destruction of a task, at any moment.
#include "tests/catch.h"
#include "tests/jail/shared_jails.h"

using jail::Language;

namespace {

constexpr const char* kCode = "import subprocess, time\nsubprocess.Popen(['sleep', '600'])\nprint('x' * 100000)\n";

// Cancels after `turns` turns of the loop; true when the answer had come before.
bool cancel_after(int turns, const char* code) {
  SideBySide side(jails());
  size_t index = side.start(jails().request(Language::python, code));
  for (int i = 0; i < turns && !side.answered(index); i++) uv_run(jails().loop().uv(), UV_RUN_ONCE);
  bool answered = side.answered(index);
  side.cancel_all();
  return answered;
}

}  // namespace

TEST_CASE("an execution cancelled at any moment leaves nothing", "[real]") {
  jails().run(Language::python, "pass");
  auto before = census_at_rest(jails());
  for (int turns = 0; turns <= 60; turns++) {
    CAPTURE(turns);
    cancel_after(turns, kCode);
    auto after = settle(jails(), before);
    REQUIRE(after == before);
  }
}

TEST_CASE("cancelling while code is prepared, and many at once, leaves nothing", "[real]") {
  auto before = census_at_rest(jails());
  {
    SideBySide many(jails());
    for (int i = 0; i < 10; i++) {
      auto request = jails().request(Language::shell, "sleep 600");
      auto wait = [](Loop& loop) -> Task<> { co_await sleep_for(loop, std::chrono::seconds(60)); };
      if (i % 2) request.before_code = [wait] { return wait(jails().loop()); };
      many.start(std::move(request));
    }
    for (int i = 0; i < 25; i++) uv_run(jails().loop().uv(), UV_RUN_ONCE);
  }
  CHECK(settle(jails(), before) == before);
}

TEST_CASE("an execution after a cancelled one is none the worse", "[real]") {
  cancel_after(5, kCode);
  auto report = jails().run(Language::python, "result = 7");
  REQUIRE(report.value);
  CHECK(*report.value == 7);
}
