// Timeline: an hour by the second and a day by the minute, in bounded memory.
#include "supervisor/executions/timeline.h"

#include <algorithm>

#include "tests/catch.h"

using namespace std::chrono_literals;
using executions::kUnknown;
using executions::Timeline;
using executions::TimelineRange;
using executions::TimelineState;

namespace {

constexpr int64_t kEpoch = 1'800'000'000;  // a multiple of 3600

uint64_t value(const TimelineRange& range, size_t row, const std::string& column) {
  const auto it = std::find(range.columns.begin(), range.columns.end(), column);
  REQUIRE(it != range.columns.end());
  return range.rows.at(row).at(static_cast<size_t>(it - range.columns.begin()));
}

TimelineState state(uint32_t running, uint64_t cpu_usec = 0) {
  TimelineState now;
  now.running = running;
  now.cpu_usec = cpu_usec;
  return now;
}

// A timeline that began at second 0 and has closed `seconds` of them, each with an execution of 10 ms.
Timeline filled(int64_t seconds) {
  Timeline timeline;
  timeline.close(0, {});
  for (int64_t second = 1; second <= seconds; second++) {
    timeline.add("ok", 10ms);
    timeline.close(second, state(static_cast<uint32_t>(second % 7), static_cast<uint64_t>(second) * 500'000));
  }
  return timeline;
}

TimelineRange read(const Timeline& timeline, const Timeline::Query& request) {
  auto range = timeline.read(request, kEpoch);
  REQUIRE(range);
  return *range;
}

}  // namespace

TEST_CASE("a second has its executions by outcome, its load and its times", "[timeline]") {
  Timeline timeline;
  timeline.close(100, state(0, 1'000'000));
  timeline.add("ok", 8ms);
  timeline.add("ok", 8ms);
  timeline.add("timeout", 5s);
  timeline.add("denied", std::nullopt);
  timeline.add("an outcome of tomorrow", std::nullopt);
  timeline.close(101, state(3, 1'750'000));
  const TimelineRange range = read(timeline, {});
  REQUIRE(range.rows.size() == 1);
  CHECK(value(range, 0, "TimeUSec") == static_cast<uint64_t>(kEpoch + 100) * 1'000'000);
  CHECK(value(range, 0, "Seconds") == 1);
  CHECK(value(range, 0, "Running") == 3);
  CHECK(value(range, 0, "CPUUSec") == 750'000);
  CHECK(value(range, 0, "ok") == 2);
  CHECK(value(range, 0, "timeout") == 1);
  CHECK(value(range, 0, "denied") == 1);
  CHECK(value(range, 0, "other") == 1);
  CHECK(value(range, 0, "error") == 0);
  CHECK(value(range, 0, "Answers") == 3);
  CHECK(range.answers == 3);
  CHECK(range.p50 > 5'600);
  CHECK(range.p50 < 11'300);
  CHECK(range.p99 > 3'500'000);
  CHECK(range.p99 < 7'100'000);
}

TEST_CASE("a time is in the class below its bound, and no time is outside", "[timeline]") {
  using Answers = Histogram<executions::kAnswerBoundsUs>;
  const auto class_of = [](int64_t usec) {
    Answers answers;
    answers.add(usec);
    return std::find(answers.counts.begin(), answers.counts.end(), 1u) - answers.counts.begin();
  };
  CHECK(class_of(0) == 0);
  CHECK(class_of(250) == 0);
  CHECK(class_of(251) == 1);
  CHECK(class_of(500) == 2);
  CHECK(class_of(36'000'000'000'000) == 47);
  CHECK_FALSE(Answers().quantile(50));
  for (int64_t usec = 1; usec < 2'900'000'000; usec = usec * 3 / 2 + 1) {
    Answers item;
    item.add(usec);
    const uint64_t reported = item.quantile(99).value();
    CHECK(reported >= static_cast<uint64_t>(usec));
    CHECK(static_cast<double>(reported) <= std::max(250.0, static_cast<double>(usec) * 1.415));
  }
}

TEST_CASE("the CPU time is unknown while it cannot be measured, and when it is added at an end", "[timeline]") {
  Timeline timeline;
  timeline.close(0, state(0, 0));
  TimelineState unmeasured = state(1, 0);
  unmeasured.has_cpu = false;
  timeline.close(1, unmeasured);
  timeline.close(2, state(0, 90'000'000));
  timeline.close(3, state(0, 90'400'000));
  const TimelineRange range = read(timeline, {});
  CHECK(value(range, 0, "CPUUSec") == kUnknown);
  CHECK(value(range, 1, "CPUUSec") == kUnknown);
  CHECK(value(range, 2, "CPUUSec") == 400'000);
  CHECK(value(range, 0, "AnswerP50USec") == kUnknown);
}

TEST_CASE("a loop that was busy leaves one longer row and no gap", "[timeline]") {
  Timeline timeline;
  timeline.close(10, {});
  timeline.add("ok", 1ms);
  timeline.close(14, state(1));
  timeline.close(14, state(9));  // the same second again
  timeline.close(12, state(9));  // a second that is past
  const TimelineRange range = read(timeline, {});
  REQUIRE(range.rows.size() == 1);
  CHECK(value(range, 0, "Seconds") == 4);
  CHECK(value(range, 0, "Running") == 1);
}

TEST_CASE("steps begin at multiples of themselves, and add up what they hold", "[timeline]") {
  const Timeline timeline = filled(25);
  const TimelineRange range = read(timeline, {.from = 0, .step = 10});
  REQUIRE(range.rows.size() == 3);
  CHECK(value(range, 0, "TimeUSec") == static_cast<uint64_t>(kEpoch) * 1'000'000);
  CHECK(value(range, 0, "ok") == 10);
  CHECK(value(range, 2, "ok") == 5);
  CHECK(value(range, 2, "Seconds") == 5);
  CHECK(value(range, 0, "Running") == 6);  // the highest
  CHECK(value(range, 0, "CPUUSec") == 5'000'000);
}

TEST_CASE("a range leaves out what is before and after it", "[timeline]") {
  const Timeline timeline = filled(100);
  const TimelineRange range = read(timeline, {.from = kEpoch + 20, .until = kEpoch + 30});
  REQUIRE(range.rows.size() == 10);
  CHECK(value(range, 0, "TimeUSec") == static_cast<uint64_t>(kEpoch + 20) * 1'000'000);
  CHECK(range.answers == 10);
}

TEST_CASE("seconds stay for an hour and minutes for a day", "[timeline]") {
  const Timeline timeline = filled(90'000);  // 25 hours
  const TimelineRange seconds = read(timeline, {});
  CHECK(seconds.rows.size() == 3600);
  CHECK(value(seconds, 0, "TimeUSec") == static_cast<uint64_t>(kEpoch + 90'000 - 3600) * 1'000'000);
  const TimelineRange minutes = read(timeline, {.step = 60});
  CHECK(minutes.rows.size() == 1441);  // and the minute that has not ended
  CHECK(value(minutes, 0, "ok") == 60);
  const TimelineRange hours = read(timeline, {.step = 3600});
  CHECK(hours.rows.size() == 25);
  CHECK(value(hours, 3, "ok") == 3600);
  CHECK(executions::kTimelineBytes < 1'200'000);
}

TEST_CASE("counts stop at their highest value", "[timeline]") {
  Timeline timeline;
  timeline.close(0, {});
  for (int i = 0; i < 70'000; i++) timeline.add("ok", 1ms);
  timeline.close(1, {});
  CHECK(value(read(timeline, {}), 0, "ok") == 65'535);
}

TEST_CASE("a step that the timeline does not have is refused, with the steps that it has", "[timeline]") {
  const Timeline timeline = filled(1);
  for (const uint32_t step : {0u, 61u, 90u, 86'401u, 0xffffffffu}) {
    const auto range = timeline.read({.step = step}, kEpoch);
    REQUIRE_FALSE(range);
    CHECK(range.error().code == Code::invalid);
    CHECK(range.error().what.find("step") != std::string::npos);
    CHECK(range.error().hint.find("multiple of 60") != std::string::npos);
  }
}
