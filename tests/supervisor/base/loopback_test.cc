// Addresses for metrics over TCP: only this machine may reach them.
#include "supervisor/base/loopback.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "tests/catch.h"

namespace {

// A socket that listens on any free port of the address; `port` receives it.
Fd listening_at(const char* address, uint16_t& port) {
  Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in bound{};
  bound.sin_family = AF_INET;
  ::inet_pton(AF_INET, address, &bound.sin_addr);
  socklen_t size = sizeof bound;
  REQUIRE(::bind(socket.get(), reinterpret_cast<sockaddr*>(&bound), size) == 0);
  REQUIRE(::listen(socket.get(), 1) == 0);
  REQUIRE(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&bound), &size) == 0);
  port = ntohs(bound.sin_port);
  return socket;
}

}  // namespace

TEST_CASE("a setting with a colon and no slash is an address, and everything else is a path", "[loopback]") {
  for (const char* address : {"127.0.0.1:9460", "[::1]:9460", "0.0.0.0:1", "localhost:1", ":1"})
    CHECK(is_tcp_address(address));
  for (const char* path : {"", "metrics.sock", "/run/a:1", "./127.0.0.1:9460"}) CHECK(!is_tcp_address(path));
}

TEST_CASE("loopback addresses are read, and written as they were", "[loopback]") {
  for (const char* text : {"127.0.0.1:9460", "127.1.2.3:1", "[::1]:65535"}) {
    const auto address = parse_loopback(text);
    REQUIRE(address);
    CHECK(address->text() == text);
  }
}

TEST_CASE("an address that other machines reach is refused with the remedy", "[loopback]") {
  for (const char* text : {"0.0.0.0:9460", "192.0.2.1:9460", "[::]:9460", "[2001:db8::1]:9460", "localhost:9460",
                           "[::ffff:127.0.0.1]:9460", ":9460", "128.0.0.1:9460", "127.0.0.1", "127.0.0.1:", "[::1]",
                           "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1:9460x", "127.0.0.1: 9460", "127.1:9460",
                           "127.0.0.1:-1", "[::1]x:9460", "::1:9460"}) {
    INFO(text);
    const auto address = parse_loopback(text);
    REQUIRE(!address);
    CHECK(address.error().code == Code::invalid);
    CHECK(address.error().hint.find("127.0.0.1:9460") != std::string::npos);
  }
}

TEST_CASE("a taken port is an error that names it, and sockets are told apart by their address", "[loopback]") {
  uint16_t port = 0;
  const Fd own = listening_at("127.0.0.1", port), open = listening_at("0.0.0.0", port);
  CHECK(is_loopback_socket(own.get()));
  CHECK(!is_loopback_socket(open.get()));
  CHECK(bound_address(open.get()) == "0.0.0.0:" + std::to_string(port));
  const auto second = listen_on({false, 0x7f000001, port});
  REQUIRE(!second);
  CHECK(second.error().what == "another process listens on 127.0.0.1:" + std::to_string(port));
}

TEST_CASE("the host that a request names is judged without its port", "[loopback]") {
  for (const char* host : {"127.0.0.1:9460", "127.0.0.1", "localhost", "localhost:9460", "[::1]:9460", "[::1]"})
    CHECK(is_loopback_host(host));
  for (const char* host :
       {"", "attacker.example", "127.0.0.1.attacker.example:9460", "10.0.0.1", "[::2]", "::1",
        "localhost.attacker.example", "127.999.1.1", "127.1", "0127.0.0.1", "127.0.0.1:", "127.0.0.1:x",
        "127.0.0.1:9460.attacker.example", "127.0.0.1:123456", "[::1].attacker.example", "[::1]attacker.example:9460"})
    CHECK(!is_loopback_host(host));
}
