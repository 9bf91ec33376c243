#include "supervisor/protocol/http/web_origin.h"

#include <string>
#include <vector>

#include "tests/catch.h"

using http::is_own_host;
using http::is_own_origin;

TEST_CASE("hosts that name this server") {
  const std::vector<std::string> hosts = {"agents.example", "10.1.1.1:80"};
  const std::string own = "10.0.0.1:9470";
  for (const char* host : {"localhost", "LOCALHOST:80", "127.0.0.1", "127.9.9.9:1", "[::1]", "[::1]:9470",
                           "10.0.0.1:9470", "agents.example", "Agents.Example:443", "10.1.1.1:80"}) {
    INFO(host);
    CHECK(is_own_host(host, own, hosts));
  }
  for (const char* host :
       {"", "evil.example", "localhost.evil.example", "localhost.", "127.0.0.1.evil.example", "10.0.0.1:80", "10.0.0.1",
        "[::2]", "[::1].evil", "::1", "0.0.0.0", "2130706433", "agents.example.evil", "10.1.1.1:81"}) {
    INFO(host);
    CHECK_FALSE(is_own_host(host, own, hosts));
  }
}

TEST_CASE("origins of pages that may use this server") {
  const std::vector<std::string> origins = {"https://app.example"};
  const std::string own = "10.0.0.1:9470";
  CHECK(is_own_origin("http://localhost:9470", "localhost:9470", own, origins));
  CHECK(is_own_origin("https://LOCALHOST:9470", "localhost:9470", own, origins));
  CHECK(is_own_origin("http://[::1]:9470", "[::1]:9470", own, origins));
  CHECK(is_own_origin("http://10.0.0.1:9470", "10.0.0.1:9470", own, origins));
  CHECK(is_own_origin("https://app.example", "localhost:9470", own, origins));
  for (const char* origin :
       {"", "null", "http://localhost", "http://localhost:3000", "http://localhost:9470.evil",
        "http://localhost.evil:9470", "http://evil@localhost:9470", "ftp://localhost:9470", "http://127.0.0.1:9470",
        "https://app.example.evil", "https://app.example:444", "http://app.example", "localhost:9470"}) {
    INFO(origin);
    CHECK_FALSE(is_own_origin(origin, "localhost:9470", own, origins));
  }
  CHECK_FALSE(is_own_origin("https://agents.example", "agents.example", own, origins));  // not loopback: must be listed
}
