// Host names of egress: the one written form that is taken, and the disguises that are not.
#include "policies/host_name.h"

#include "tests/catch.h"

using namespace policies;

TEST_CASE("host names are taken in one form") {
  CHECK(parse_host_name("API.Example.com").value() == "api.example.com");
  CHECK(parse_host_name("a_b.s3.amazonaws.com").value() == "a_b.s3.amazonaws.com");
  CHECK(parse_host_name("xn--nxasmq6b.example.com").value() == "xn--nxasmq6b.example.com");
  CHECK(parse_host_name("1.2.3.4a").has_value());
  CHECK(parse_host_name("0xfg.0xfg").has_value());
  CHECK(parse_host_name(std::string(63, 'a') + ".com").has_value());
  CHECK_FALSE(parse_host_name(std::string(64, 'a') + ".com"));
  std::string longest;
  while (longest.size() < 250) longest += "ab.";
  CHECK(parse_host_name(longest + "c").has_value());
  CHECK_FALSE(parse_host_name(longest + "cdefg"));
}

TEST_CASE("disguises are refused as a host and port") {
  const std::string zero("api.example.com\0.evil.net:443", 29);
  for (const std::string text : {"127.1:443",
                                 "0x7f.1:443",
                                 "2130706433:443",
                                 "0177.0.0.1:443",
                                 "127.0.0.1:443",
                                 "[::1]:443",
                                 "[::ffff:127.0.0.1]:443",
                                 "localhost:443",
                                 "api.example.com.:443",
                                 zero.c_str(),
                                 "api.example.com%00.evil.net:443",
                                 "api.example.com@evil.net:443",
                                 "evil.net#.example.com:443",
                                 "api.example.com:443:80",
                                 "api.example.com:0443",
                                 "api.example.com:+443",
                                 "api.example.com: 443",
                                 "fe80::1%lo:443",
                                 "example\xe3\x80\x82"
                                 "com:443",
                                 "-a.example.com:443",
                                 "a-.example.com:443",
                                 "a..example.com:443",
                                 ".example.com:443",
                                 "*.example.com:443",
                                 "api.example.com",
                                 "169.254.169.254:80",
                                 "1.2.3.0x4:80",
                                 "a.0x:80",
                                 "api.example.com:0",
                                 "api.example.com:65536",
                                 "api.example.com:",
                                 "api.example.com:99999999999",
                                 "api.example.com:-1",
                                 "api.example.com\t:443",
                                 "api.example.com/:443",
                                 ":443",
                                 ""}) {
    INFO(text);
    CHECK_FALSE(parse_host_port(text, true));
  }
  CHECK_FALSE(parse_host_port(zero, true));
  const HostPort good = parse_host_port("Api.Example.com:8443", true).value();
  CHECK(good.host == "api.example.com");
  CHECK(good.port == 8443);
  CHECK(parse_host_port("api.example.com", false).value().port == 0);
}

TEST_CASE("a pattern has names below it") {
  const std::string pattern = parse_host_pattern("*.PyPI.org").value();
  CHECK(pattern == "*.pypi.org");
  CHECK(matches_host(pattern, "files.pypi.org"));
  CHECK(matches_host(pattern, "a.b.pypi.org"));
  CHECK_FALSE(matches_host(pattern, "pypi.org"));
  CHECK_FALSE(matches_host(pattern, "evilpypi.org"));
  CHECK_FALSE(matches_host(pattern, "pypi.org.evil.net"));
  CHECK(matches_host("pypi.org", "pypi.org"));
  for (const char* wrong : {"*", "*.", "*.com", "a.*.com", "**.example.com", "*example.com", ""}) {
    INFO(wrong);
    CHECK_FALSE(parse_host_pattern(wrong));
  }
}
