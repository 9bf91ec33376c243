#include "supervisor/upstream/calls/progress_relay.h"

#include <cmath>

#include "supervisor/upstream/calls/call_question.h"
#include "tests/catch.h"
#include "tests/jail/await.h"

using calls::progress_line;
using calls::ProgressRelay;

namespace {

struct RelayScene {
  Loop loop;
  std::vector<ProgressRelay::Value> reported;
  ProgressRelay relay;
  explicit RelayScene(ProgressRelay::Texts texts = ProgressRelay::Texts::passed)
      : relay(loop, texts, [this](const ProgressRelay::Value& item) { reported.push_back(item); }) {}
};

}  // namespace

TEST_CASE("progress only grows, and only by numbers", "[progress]") {
  RelayScene scene;
  for (const double value : std::initializer_list<double>{1.0, 0.5, 1.0, std::nan(""), INFINITY, 2.0, -1.0})
    scene.relay.take(value, NAN, "x");
  REQUIRE(scene.reported.size() == 2);
  CHECK(scene.reported[1].value == 2);
  CHECK_FALSE(scene.reported[1].total);
}

TEST_CASE("a flood of progress is thinned out, and the newest is told later", "[progress]") {
  RelayScene scene;
  for (int value = 1; value <= 1000; value++) scene.relay.take(value, 1000.0, "x");
  CHECK(scene.reported.size() == ProgressRelay::kBurst);
  REQUIRE(run_until(scene.loop, [&] { return scene.reported.size() > ProgressRelay::kBurst; }));
  CHECK(scene.reported.size() == ProgressRelay::kBurst + 1);
  CHECK(scene.reported.back().value == 1000);
}

TEST_CASE("a flood that goes on is told four times a second", "[progress]") {
  RelayScene scene;
  const auto started = Monotonic::now();
  double value = 0;
  while (Monotonic::now() - started < 6 * ProgressRelay::kEvery) {
    bool turned = false;
    scene.relay.take(++value, {}, "x");
    Deadline turn(scene.loop, std::chrono::milliseconds(1), [&] { turned = true; });
    REQUIRE(run_until(scene.loop, [&] { return turned; }));
  }
  const auto positions = (Monotonic::now() - started) / ProgressRelay::kEvery + 1;
  CHECK(scene.reported.size() <= ProgressRelay::kBurst + static_cast<size_t>(positions));
}

TEST_CASE("nothing is told of what has ended", "[progress]") {
  Loop loop;
  size_t count = 0;
  {
    ProgressRelay relay(loop, ProgressRelay::Texts::passed, [&](const auto&) { count++; });
    for (int value = 1; value <= 100; value++) relay.take(value, {}, "x");
  }
  bool later = false;
  Deadline deadline(loop, 2 * ProgressRelay::kEvery, [&] { later = true; });
  REQUIRE(run_until(loop, [&] { return later; }));
  CHECK(count == ProgressRelay::kBurst);
}

TEST_CASE("what a server says of its progress is one short line, or nothing", "[progress]") {
  RelayScene scene;
  scene.relay.take(3, 10.0, "copy\ning\x1b[31m" + std::string(1000, 'x'));
  REQUIRE(scene.reported.size() == 1);
  CHECK(scene.reported[0].text.find_first_of("\n\x1b") == std::string::npos);
  CHECK(scene.reported[0].text.size() < 300);
  CHECK(progress_line("files", "copy", {3, 10.0, "half"}) == "files.copy: 3 of 10: half");
  CHECK(progress_line("files", "a\nb", {0.5, {}, ""}) ==
        "files.a\xEF\xBF\xBD"
        "b: 0.5");

  RelayScene silent(ProgressRelay::Texts::dropped);
  silent.relay.take(1, {}, "ada@example.com");
  CHECK(silent.reported.at(0).text.empty());
}

TEST_CASE("a server's question never looks like one of ours", "[questions]") {
  const std::string text = calls::question_text({"near", "book"}, "Allow this call?\n\ntool: x\n");
  CHECK(text.starts_with("The MCP server 'near' asks this question for its tool 'book'."));
  CHECK(text.ends_with("\n\n> Allow this call?\n> \n> tool: x\n> "));
}
