// The names of passed sockets: each name has one use, and a name that warderd does not serve is an error.
#include "supervisor/daemon/systemd/service_manager.h"

#include <string>

#include "tests/catch.h"

using Use = ServiceManager::SocketUse;

TEST_CASE("the name of a passed socket decides its use", "[systemd]") {
  const std::pair<std::string_view, Use> kNames[] = {
      {"mcp", Use::mcp},   {"http", Use::http}, {"metrics", Use::metrics}, {"tenant-metrics", Use::tenant_metrics},
      {"node", Use::node},
  };
  for (const auto& [name, use] : kNames) {
    INFO(name);
    CHECK(ServiceManager::use_of(name) == use);
  }
}

TEST_CASE("a socket unit without a name of its descriptor passes its file name", "[systemd]") {
  CHECK(ServiceManager::use_of("warder.socket") == Use::mcp);
  CHECK(ServiceManager::use_of("another.socket") == Use::mcp);
  CHECK(ServiceManager::use_of("warder-http.socket") == Use::http);
  CHECK(ServiceManager::use_of("warder-metrics.socket") == Use::metrics);
  CHECK(ServiceManager::use_of("unknown") == Use::mcp);  // $LISTEN_FDNAMES is not set
}

TEST_CASE("a socket of another name is refused, and the error names it and the remedy", "[systemd]") {
  for (const std::string name : {"", "Metrics", "metric", "tenant_metrics", "socket", "mcp ", "http.socket.bak"}) {
    INFO(name);
    const auto use = ServiceManager::use_of(name);
    REQUIRE_FALSE(use);
    CHECK(use.error().code == Code::invalid);
    CHECK(use.error().what.find("'" + name + "'") != std::string::npos);
    CHECK(use.error().hint.find("FileDescriptorName=") != std::string::npos);
  }
}

TEST_CASE("the error about a hostile name is short and printable", "[systemd]") {
  const auto use = ServiceManager::use_of("\x1b[31m" + std::string(10'000, 'x'));
  REQUIRE_FALSE(use);
  CHECK(use.error().what.size() < 300);
  CHECK(use.error().what.find('\x1b') == std::string::npos);
}
