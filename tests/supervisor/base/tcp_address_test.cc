#include "supervisor/base/tcp_address.h"

#include "tests/catch.h"

TEST_CASE("addresses with ports are read, and only these") {
  struct Row {
    const char* text;
    bool is_loopback;
  };
  for (const Row& row :
       {Row{"127.0.0.1:9470", true}, Row{"127.9.9.9:1", true}, Row{"[::1]:65535", true}, Row{"0.0.0.0:80", false},
        Row{"10.1.2.3:9470", false}, Row{"[::]:9470", false}, Row{"[fe80::1]:1", false}}) {
    INFO(row.text);
    const auto address = parse_tcp_address(row.text);
    REQUIRE(address);
    CHECK(address->is_loopback == row.is_loopback);
    CHECK(address->text == row.text);
  }
  for (const char* text : {"", ":", "9470", ":9470", "127.0.0.1", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536",
                           "127.0.0.1:9470 ", "127.0.0.1:+1", "127.1:9470", "localhost:9470", "::1:9470", "[::1]",
                           "[127.0.0.1]:9470", "[::1:9470", "1.2.3.4.5:1"}) {
    INFO(text);
    const auto address = parse_tcp_address(text);
    REQUIRE_FALSE(address);
    CHECK(address.error().code == Code::invalid);
  }
}

TEST_CASE("a port that is in use is named") {
  const auto address = parse_tcp_address("127.0.0.1:54871").value();
  const auto first = listen_on(address);
  REQUIRE(first);
  const auto second = listen_on(address);
  REQUIRE_FALSE(second);
  CHECK(second.error().what.find("127.0.0.1:54871") != std::string::npos);
}
