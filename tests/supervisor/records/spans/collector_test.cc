#include "supervisor/records/spans/collector.h"

#include <fstream>

#include "tests/catch.h"
#include "tests/temp_directory.h"

using namespace spans;

TEST_CASE("spans are posted below where the collector is", "[spans]") {
  auto [named, url, socket] = GENERATE(table<std::string, std::string, std::string>({
      {"http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/traces", ""},
      {"http://[::1]:4318/", "http://[::1]:4318/v1/traces", ""},
      {"https://otel.example/in/", "https://otel.example/in/v1/traces", ""},
      {"https://otel.example/v1/traces", "https://otel.example/v1/traces", ""},
      {"unix:///run/otel.sock", "http://localhost/v1/traces", "/run/otel.sock"},
      {"unix:///run/otel.sock#/in", "http://localhost/in/v1/traces", "/run/otel.sock"},
  }));
  CAPTURE(named);
  const auto collector = parse_collector(named);
  REQUIRE(collector);
  CHECK(collector->displayed == named);
  CHECK(collector->url == url);
  CHECK(collector->socket == socket);
}

TEST_CASE("what is no collector is refused", "[spans]") {
  for (const std::string& wrong :
       {std::string(""), std::string("localhost:4318"), std::string("grpc://a"), std::string("http://"),
        std::string("http://user:password@a"), std::string("http://a?x=1"), std::string("http://a#b"),
        std::string("http://a:0"), std::string("http://a b"), std::string("http://a\n"), std::string("unix://run/a"),
        std::string("unix://"), std::string("unix:///run/a#b"), std::string("unix:///run/a#/b?c"),
        "unix:///" + std::string(107, 'a')}) {
    CAPTURE(wrong);
    const auto collector = parse_collector(wrong);
    REQUIRE_FALSE(collector);
    CHECK(collector.error().code == Code::invalid);
    CHECK_FALSE(collector.error().hint.empty());
  }
}

TEST_CASE("headers are lines of a file", "[spans]") {
  const auto headers = parse_headers("# of the collector\n\nAuthorization:  Bearer abc \r\nX-Scope: a:b\nX-Empty:\n");
  REQUIRE(headers);
  const http::Headers expected{{"Authorization", "Bearer abc"}, {"X-Scope", "a:b"}, {"X-Empty", ""}};
  CHECK(*headers == expected);
  std::string many;
  for (int i = 0; i < 33; i++) many += "A: b\n";
  for (const std::string& wrong : {std::string("secret\n"), std::string("A B: secret"), std::string(": secret"),
                                   std::string("A: secret\0", 10), many}) {
    const auto refused = parse_headers(wrong);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().what.find("secret") == std::string::npos);
  }
}

TEST_CASE("headers come from the file that is named, or from the credential", "[spans]") {
  const TempDirectory folder;
  const std::filesystem::path path = folder.path() / "warder.traces";
  auto collector = parse_collector("http://a");
  REQUIRE(collector);
  CHECK(load_headers(*collector, ""));
  CHECK(load_headers(*collector, folder.path()));  // no such credential
  CHECK(collector->headers.empty());
  std::ofstream(path) << "A: b\n";
  REQUIRE(load_headers(*collector, folder.path()));
  CHECK(collector->headers == http::Headers{{"A", "b"}});
  collector->headers_file = folder.path() / "none";
  CHECK_FALSE(load_headers(*collector, folder.path()));  // it was named, and is not there
  collector->headers_file = folder.path();
  CHECK_FALSE(load_headers(*collector, ""));
  std::ofstream(path) << std::string(70'000, '\n');
  collector->headers_file = path;
  CHECK_FALSE(load_headers(*collector, ""));
}
