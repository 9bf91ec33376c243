#include "policies/limits.h"

#include <limits>

#include "tests/catch.h"

using namespace policies;
using namespace std::chrono_literals;

namespace {
Ceilings ceilings() {
  Ceilings c;
  c.standard.memory_bytes = 500 << 20;
  c.standard.tasks = 64;
  c.standard.output_bytes = 20000;
  c.standard.file_bytes = 7;
  c.maximum = c.standard;
  c.maximum.wall = 300s;
  c.maximum.memory_bytes = 2ull << 30;
  c.maximum.tasks = 256;
  c.maximum.cpus = 4;
  c.maximum.output_bytes = 1 << 20;
  return c;
}
}  // namespace

TEST_CASE("who asks for nothing gets the standard", "[limits]") {
  auto [limits, clamps] = resolve(ceilings(), {});
  CHECK(limits.wall == 30s);
  CHECK(limits.memory_bytes == 500 << 20);
  CHECK(limits.tasks == 64);
  CHECK(limits.cpus == 1);
  CHECK(limits.output_bytes == 20000);
  CHECK(limits.file_bytes == 7);
  CHECK(clamps.empty());
}

TEST_CASE("who asks within the ceilings gets it, and nothing is said", "[limits]") {
  LimitRequest request{300s, 1s, 2ull << 30, 4, 0.5, 1024};
  auto [limits, clamps] = resolve(ceilings(), request);
  CHECK(limits.wall == 300s);
  CHECK(limits.cpu == 1s);
  CHECK(limits.memory_bytes == 2ull << 30);
  CHECK(limits.tasks == 4);
  CHECK(limits.cpus == 0.5);
  CHECK(limits.output_bytes == 1024);
  CHECK(clamps.empty());
}

TEST_CASE("a wish above its ceiling is cut down, and said", "[limits]") {
  LimitRequest request{301500ms, {}, 8ull << 30, 1000, 64, 1ull << 40};
  auto [limits, clamps] = resolve(ceilings(), request);
  CHECK(limits.wall == 300s);
  CHECK(limits.memory_bytes == 2ull << 30);
  CHECK(limits.tasks == 256);
  CHECK(limits.cpus == 4);
  CHECK(limits.output_bytes == 1 << 20);
  std::string message;
  for (const auto& clamp : clamps) message += clamp.name + ": " + clamp.requested + " -> " + clamp.given + "\n";
  CHECK(message ==
        "wall_ms: 301.5 s -> 300 s\n"
        "memory_bytes: 8 GiB -> 2 GiB\n"
        "tasks: 1000 -> 256\n"
        "cpus: 64 -> 4\n"
        "output_bytes: 1 TiB -> 1 MiB\n");
}

TEST_CASE("a wish too small to run anything is raised, and said", "[limits]") {
  LimitRequest request{-5s, -1ms, 0, 0, -3.0, 0};
  auto [limits, clamps] = resolve(ceilings(), request);
  CHECK(limits.wall == kMinWall);
  CHECK(limits.cpu == 1ms);
  CHECK(limits.memory_bytes == kMinMemoryBytes);
  CHECK(limits.tasks == kMinTasks);
  CHECK(limits.cpus == kMinCpus);
  CHECK(limits.output_bytes == kMinOutputBytes);
  CHECK(clamps.size() == 6);
  CHECK(clamps[0].requested == "-5 s");
}

TEST_CASE("no CPU time limit is the highest one", "[limits]") {
  Ceilings c = ceilings();
  SECTION("without a ceiling everything may be asked for") {
    LimitRequest request;
    request.cpu = 1000s;
    CHECK(resolve(c, request).first.cpu == 1000s);
    request.cpu = 0s;
    CHECK(resolve(c, request).first.cpu == 0s);
    CHECK(resolve(c, request).second.empty());
  }
  SECTION("with a ceiling, none is above it") {
    c.standard.cpu = 5s;
    c.maximum.cpu = 10s;
    CHECK(resolve(c, {}).first.cpu == 5s);
    LimitRequest request;
    request.cpu = 0s;
    auto [limits, clamps] = resolve(c, request);
    CHECK(limits.cpu == 10s);
    REQUIRE(clamps.size() == 1);
    CHECK(clamps[0].requested == "none");
    CHECK(clamps[0].given == "10 s");
  }
}

TEST_CASE("a wish that is no number is not heard", "[limits]") {
  LimitRequest request;
  request.cpus = std::numeric_limits<double>::quiet_NaN();
  CHECK(resolve(ceilings(), request).first.cpus == 1);
  request.cpus = std::numeric_limits<double>::infinity();
  CHECK(resolve(ceilings(), request).first.cpus == 4);
}

TEST_CASE("a ceiling below the smallest useful value still holds", "[limits]") {
  Ceilings c = ceilings();
  c.maximum.output_bytes = c.standard.output_bytes = 100;
  LimitRequest request;
  request.output_bytes = 5;
  CHECK(resolve(c, request).first.output_bytes == 100);
}

TEST_CASE("sizes and times are written for people", "[limits]") {
  CHECK(bytes_text(0) == "0 bytes");
  CHECK(bytes_text(20000) == "20000 bytes");
  CHECK(bytes_text(1536) == "1.5 KiB");
  CHECK(bytes_text(500 << 20) == "500 MiB");
  CHECK(bytes_text(3ull << 29) == "1.5 GiB");
  CHECK(bytes_text(UINT64_MAX) == "18446744073709551615 bytes");
  CHECK(duration_text(250ms) == "250 ms");
  CHECK(duration_text(30s) == "30 s");
  CHECK(duration_text(1500ms) == "1.5 s");
}
