// The client side of a proxy under test: its process, and what a client says to it.
#pragma once
#include "tests/catch.h"
#include "tests/supervisor/programs/cli/processes.h"

namespace cli_test {

struct Proxy : Process {
  explicit Proxy(const FakeDaemon& daemon, std::vector<std::string> environment = {})
      : Process({"mcp", "--socket", daemon.path()}, std::move(environment)) {}
};

inline const Json kInitialize = {{"protocolVersion", "2025-06-18"},
                                 {"capabilities", Json::object()},
                                 {"clientInfo", {{"name", "test"}, {"version", "1"}}}};
inline const Json kInitialized = {{"jsonrpc", "2.0"}, {"method", "notifications/initialized"}};

// The legacy handshake through a proxy to a daemon that answers it.
inline void shake_hands(Proxy& proxy, Peer& peer) {
  proxy.send(request(0, "initialize", kInitialize));
  CHECK(peer.request()["method"] == "initialize");
  peer.send(result(0, {{"protocolVersion", "2025-06-18"}, {"serverInfo", {{"name", "fake"}, {"version", "1"}}}}));
  CHECK(proxy.out.message()["id"] == 0);
  proxy.send(kInitialized);
  CHECK(peer.request()["method"] == "notifications/initialized");
}

inline Json call(const Json& id, const std::string& code = "1") {
  return request(id, "tools/call", {{"name", "execute_code"}, {"arguments", {{"code", code}}}});
}

inline Json answer_text(const Json& message) {
  return Json::parse(message.at("result").at("content").at(0).at("text").get<std::string>());
}

}  // namespace cli_test
