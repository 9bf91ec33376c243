#include "supervisor/programs/agent/model_client.h"

#include <ctime>

#include "tests/catch.h"

using namespace std::chrono_literals;
using agent::retry_after;

TEST_CASE("Retry-After is a number of seconds or a date, and anything else asks for no pause") {
  CHECK(retry_after("3") == 3000ms);
  CHECK(retry_after("0.25") == 250ms);
  CHECK(retry_after("Thu, 01 Jan 1970 00:00:01 GMT") == 0ms);  // past
  std::time_t later = std::time(nullptr) + 3600;
  char text[64];
  std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", std::gmtime(&later));
  const auto pause = retry_after(text);
  REQUIRE(pause);
  CHECK((*pause > 3590s && *pause <= 3600s));
  for (const char* wrong : {"", "-1", "soon", "1e9", "9999999", "1.2.3", "Thu, 01 Jan 1970 00:00:01", "3 s"})
    CHECK(!retry_after(wrong));
}
