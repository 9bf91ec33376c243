#include "tests/supervisor/streamable_http/harness.h"

using namespace http_test;

TEST_CASE("requests of pages of other sites are refused before their body is read") {
  HttpFixture fixture;
  const auto status = [&](const std::string& request) {
    auto client = fixture.connect_http();
    client->write(request);
    return client->answer().status;
  };
  const std::string message = mcp_test::modern(1, "tools/list").dump();
  CHECK(status(post(message, "Origin: http://evil.example\r\n")) == 403);
  CHECK(status(post(message, "Origin: null\r\n")) == 403);
  CHECK(status(post(message, "Origin: http://localhost\r\nOrigin: http://localhost\r\n")) == 403);
  std::string other_host = post(message);
  other_host.replace(other_host.find("localhost"), 9, "evil.example");
  CHECK(status(other_host) == 403);
  CHECK(status(modern_post(mcp_test::modern(1, "tools/list"), "Origin: http://localhost\r\n")) == 200);
}
