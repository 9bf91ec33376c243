#include "supervisor/upstream/authorization/urls.h"

#include "tests/catch.h"

using oauth::PlainHttp;

TEST_CASE("an endpoint is https, or http to this machine where that is allowed", "[oauth]") {
  auto [url, never, loopback] = GENERATE(table<std::string, bool, bool>({
      {"https://a.example/token", true, true},
      {"http://127.0.0.1:8080/token", false, true},
      {"http://localhost/token", false, true},
      {"http://[::1]:1/token", false, true},
      {"http://a.example/token", false, false},
      {"http://127.evil.example/token", false, false},
      {"http://127.0.0.1.evil.example/token", false, false},
      {"http://localhost.evil.example/token", false, false},
      {"http://127.8.9.10/token", false, true},
      {"http://127.999.1.1/token", false, false},
      {"http://127.1.1./token", false, false},
      {"http://127..1.1/token", false, false},
      {"https://a.example/token#x", false, false},
      {"https://user@a.example/token", false, false},
      {"https://a.example/to ken", false, false},
      {"https://a.example\\@b.example/", false, false},
      {"javascript:alert(1)", false, false},
      {"file:///etc/passwd", false, false},
      {"", false, false},
  }));
  CAPTURE(url);
  CHECK(oauth::check_endpoint(url, PlainHttp::never).has_value() == never);
  CHECK(oauth::check_endpoint(url, PlainHttp::loopback).has_value() == loopback);
}

TEST_CASE("a token is for its resource and for what is below it", "[oauth]") {
  for (const char* url : {"https://a.example/mcp", "https://A.example:443/mcp/", "https://a.example/mcp/x?y"})
    CHECK(oauth::is_resource_of("https://a.example/mcp", url));
  for (const char* url : {"https://a.example/", "https://a.example/mcp2", "https://a.example/other",
                          "https://b.example/mcp", "http://a.example/mcp", "https://a.example:444/mcp"})
    CHECK_FALSE(oauth::is_resource_of("https://a.example/mcp", url));
  CHECK(oauth::is_resource_of("https://a.example", "https://a.example/mcp"));
}

TEST_CASE("an origin is the same however it is written", "[oauth]") {
  CHECK(oauth::origin_of("https://A.Example/x?y") == "https://a.example:443");
  CHECK(oauth::origin_of("https://a.example:443") == oauth::origin_of("https://a.example/"));
  CHECK(oauth::origin_of("https://a.example:444") != oauth::origin_of("https://a.example/"));
  CHECK(oauth::origin_of("http://a.example:443") != oauth::origin_of("https://a.example/"));
  CHECK(oauth::origin_of("http://[::1]:80/x") == "http://[::1]:80");
}

TEST_CASE("the well-known places", "[oauth]") {
  using Places = std::vector<std::string>;
  CHECK(oauth::resource_metadata_places("https://a.example/public/mcp?x=1") ==
        Places{"https://a.example/.well-known/oauth-protected-resource/public/mcp",
               "https://a.example/.well-known/oauth-protected-resource"});
  CHECK(oauth::resource_metadata_places("https://a.example") ==
        Places{"https://a.example/.well-known/oauth-protected-resource"});
  CHECK(oauth::issuer_metadata_places("https://a.example/tenant1/") ==
        Places{"https://a.example/.well-known/oauth-authorization-server/tenant1",
               "https://a.example/.well-known/openid-configuration/tenant1",
               "https://a.example/tenant1/.well-known/openid-configuration"});
  CHECK(oauth::issuer_metadata_places("https://a.example").size() == 2);
}

TEST_CASE("a query is read whole, or not at all", "[oauth]") {
  auto query = oauth::read_query("http://127.0.0.1:1/callback?code=a%2Fb+c&state=%7E&empty=&flag#fragment");
  REQUIRE(query);
  CHECK(query->at("code") == "a/b c");
  CHECK(query->at("state") == "~");
  CHECK(query->at("empty").empty());
  CHECK(query->at("flag").empty());
  const std::string wrong = GENERATE(as<std::string>(), "?a=1&a=2", "?a=%", "?a=%4", "?a=%zz", "?a=%+1");
  CAPTURE(wrong);
  CHECK_FALSE(oauth::read_query(wrong));
}

TEST_CASE("a form is written so that it is read back", "[oauth]") {
  const std::string all = "a b&c=d+e/\xC3\xA9%\n";
  const auto query = oauth::read_query(oauth::with_query("https://a.example/x?y=1", {{"value", all}}));
  REQUIRE(query);
  CHECK(query->at("value") == all);
  CHECK(query->at("y") == "1");
}
