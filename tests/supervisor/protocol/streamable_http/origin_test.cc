#include "tests/supervisor/protocol/streamable_http/harness.h"

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
  for (const char* host : {"evil.example", "", " ", ":9470", ":", ".", "[]", "localhost:", "localhost.evil.example"}) {
    CAPTURE(host);
    std::string other_host = post(message);
    other_host.replace(other_host.find("localhost"), 9, host);
    CHECK(status(other_host) == 403);
  }
  CHECK(status(modern_post(mcp_test::modern(1, "tools/list"), "Origin: http://localhost\r\n")) == 200);
}

TEST_CASE("a browser's question before a request is answered without a token, for pages that may use the server") {
  HttpFixture fixture;
  fixture.settings.origins = {"https://app.example"};
  const auto ask = [&](const std::string& origin, const std::string& more) {
    auto client = fixture.connect_tcp();
    client->write("OPTIONS /mcp HTTP/1.1\r\nHost: localhost\r\nOrigin: " + origin +
                  "\r\nAccess-Control-Request-Method: POST\r\n" + more + "\r\n");
    return client->answer();
  };
  const Answer allowed =
      ask("https://app.example", "Access-Control-Request-Headers: authorization, Mcp-Session-Id,x-other,bad name\r\n");
  CHECK(allowed.status == 204);
  CHECK(allowed.header("Access-Control-Allow-Origin") == "https://app.example");
  CHECK(allowed.header("Access-Control-Allow-Headers") == "authorization, mcp-session-id");
  CHECK(allowed.header("Access-Control-Allow-Methods") == "POST, GET, DELETE");
  CHECK(allowed.header("Access-Control-Allow-Credentials").empty());
  const Answer other = ask("https://evil.example", "");
  CHECK(other.status == 403);
  CHECK(other.header("Access-Control-Allow-Origin").empty());
  CHECK(ask("https://app.example", "Access-Control-Request-Private-Network: true\r\n")
            .header("Access-Control-Allow-Private-Network") == "true");
}

TEST_CASE("each answer to a page that may use the server says so, a refusal too, and no other answer does") {
  HttpFixture fixture;
  fixture.settings.origins = {"https://app.example"};
  const auto ask = [&](const std::string& headers) {
    auto client = fixture.connect_tcp();
    client->write(post(mcp_test::modern(1, "tools/list").dump(), headers));
    return client->answer();
  };
  const std::string page = "Origin: https://app.example\r\n";
  const Answer refused = ask(page);
  CHECK(refused.status == 401);
  CHECK(refused.header("Access-Control-Allow-Origin") == "https://app.example");
  CHECK(refused.header("Vary") == "Origin");
  CHECK(ask(page + "Authorization: Bearer 1\r\n").header("Access-Control-Allow-Origin") == "https://app.example");
  CHECK(ask("Authorization: Bearer 1\r\n").header("Access-Control-Allow-Origin").empty());
}
