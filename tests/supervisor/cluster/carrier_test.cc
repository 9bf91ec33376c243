// Carrier: connections between two nodes over a bus in memory, with a test's own socket as the warderd of each node.
#include "supervisor/cluster/node/carrier.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>

#include "supervisor/base/random.h"
#include "supervisor/protocol/mcp/listener.h"
#include "tests/catch.h"
#include "tests/supervisor/cluster/bus_scene.h"
#include "tests/supervisor/cluster/trust_fixture.h"

namespace cluster {
namespace {

using trust_test::key_of;
using trust_test::node_of;
using trust_test::record_of;

std::string received(int socket) {
  std::string bytes(4096, ' ');
  const ssize_t got = ::recv(socket, bytes.data(), bytes.size(), MSG_DONTWAIT);
  bytes.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return bytes;
}
bool has_ended(int socket) {
  char byte = 0;
  return ::recv(socket, &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 0;
}

// Nodes n1, which asks, and n2, which is asked.
struct TwoNodes {
  std::unique_ptr<BusScene> scene = BusScene::make();
  std::unique_ptr<Bus> one = scene->connect("n1"), two = scene->connect("n2");
  std::string path = (std::filesystem::temp_directory_path() / ("warder-carrier-" + random_hex(8))).string();
  Fd listener = mcp::listen_at(path, 0600).value();  // of n2's warderd
  TrustRecord trust = record_of({node_of("n1", 1), node_of("n2", 2, std::vector<std::string>{"acme"})});
  Carrier asking{scene->loop, *one, {"n1", "b1", key_of(1), trust, "/nowhere"}};
  Carrier requested{scene->loop, *two, {"n2", "b2", key_of(2), trust, path}};
  Fd client;  // of n1's warderd
  Scope tasks{scene->loop};

  TwoNodes() { REQUIRE(requested.begin()); }
  ~TwoNodes() { std::filesystem::remove(path); }

  void carry(const std::string& account, WireVersions wire = kWire, Carrier* from = nullptr) {
    std::array<int, 2> ends{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) == 0);
    client = Fd(ends[0]);
    auto local = AsyncFd::adopt(scene->loop, Fd(ends[1]));
    REQUIRE(local);
    const NodeClient for_client{"n1", "uid:1", account, "shared", std::string(64, 'a')};
    tasks.spawn((from ? *from : asking).carry(*std::move(local), {"n2", "b2", wire}, for_client));
  }
  // The connection that n2's warderd gets, without its first line.
  Fd take() {
    Fd reserved;
    scene->until(
        [&] {
          reserved = Fd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
          return static_cast<bool>(reserved);
        },
        "a connection");
    std::string line;
    scene->until([&] { return (line += received(reserved.get())).ends_with("\n"); }, "the first line");
    CHECK(line.starts_with("{\"act\":"));
    return reserved;
  }
  std::string answer() {
    std::string line;
    scene->until([&] { return !(line = received(client.get())).empty(); }, "an answer");
    return line;
  }
  Fd connected() {
    carry("acme");
    Fd reserved = take();
    REQUIRE(::send(reserved.get(), "{\"serving\":{}}\n", 15, MSG_NOSIGNAL) == 15);
    CHECK(answer().starts_with("{\"opened\":"));
    return reserved;
  }
};

}  // namespace

TEST_CASE_METHOD(TwoNodes, "bytes pass both ways, and the end of one side is the end of the other", "[cluster]") {
  const Fd far = connected();
  REQUIRE(::send(client.get(), "there", 5, MSG_NOSIGNAL) == 5);
  scene->until([&] { return received(far.get()) == "there"; }, "the bytes");
  REQUIRE(::send(far.get(), "back", 4, MSG_NOSIGNAL) == 4);
  scene->until([&] { return received(client.get()) == "back"; }, "the answer");
  client = Fd();
  scene->until([&] { return has_ended(far.get()); }, "the end");
}

TEST_CASE_METHOD(TwoNodes, "a warderd that does not take the connection is no opened connection", "[cluster]") {
  carry("acme");
  const Fd far = take();  // as systemd does for a warderd that is stopped
  const std::string line = answer();
  CHECK(line.starts_with("{\"refused\":"));
  CHECK(line.find("warderd of n2: it does not answer") != std::string::npos);
  CHECK(has_ended(far.get()));
  CHECK(asking.connections() + requested.connections() == 0);
}

TEST_CASE_METHOD(TwoNodes, "no order is sent for an account that the other node may not have", "[cluster]") {
  carry("other");
  const std::string line = answer();
  CHECK(line.find("does not let the node n2 have the account other") != std::string::npos);
  CHECK(line.find("warder cluster add --accounts") != std::string::npos);
  CHECK_FALSE(Fd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)));
}

TEST_CASE_METHOD(TwoNodes, "a node that speaks other versions only gets no order", "[cluster]") {
  carry("acme", {2, 3});
  const std::string line = answer();
  CHECK(line.find("it speaks versions 2 to 3 of the protocol between nodes, this node 1 to 1") != std::string::npos);
  CHECK(line.find("install the same version") != std::string::npos);
  CHECK_FALSE(Fd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)));
}

TEST_CASE_METHOD(TwoNodes, "one node leaves room for the orders of others", "[cluster]") {
  TrustRecord three = record_of({node_of("n1", 1), node_of("n2", 2), node_of("n3", 3)}, 2);
  asking.set_trust(three);
  requested.set_trust(three);
  const auto bus = scene->connect("n3");
  Carrier third{scene->loop, *bus, {"n3", "b3", key_of(3), three, "/nowhere"}};
  std::vector<Fd> clients, claimed;
  // A client of n1, or a connection that n2's warderd gets and leaves without an answer, reads this text.
  const auto reads = [&](std::vector<Fd>& all, const char* text) {
    while (Fd connected_to{::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)})
      claimed.push_back(std::move(connected_to));
    return std::any_of(all.begin(), all.end(),
                       [&](const Fd& side) { return received(side.get()).find(text) != std::string::npos; });
  };
  for (int i = 0; i < 260; i++) {
    carry("acme");
    clients.push_back(std::move(client));
  }
  scene->until([&] { return reads(clients, "the node n1 has too many connections to n2"); }, "a refusal");
  carry("acme", kWire, &third);
  scene->until([&] { return reads(claimed, R"("node":"n3")"); }, "the connection of another node");
}

TEST_CASE_METHOD(TwoNodes, "connections end when a key changes, a node is removed, or may no longer have the account",
                 "[cluster]") {
  const std::vector<TrustRecord> changed = {
      record_of({node_of("n1", 1), node_of("n2", 3)}, 2),  // warder cluster rotate
      record_of({node_of("n1", 1)}, 2), record_of({node_of("n1", 1), node_of("n2", 2, std::vector<std::string>{})}, 2)};
  for (const TrustRecord& record : changed) {
    asking.set_trust(trust);
    const Fd far = connected();
    asking.set_trust(trust);  // the same keys: it stays
    REQUIRE(::send(client.get(), "x", 1, MSG_NOSIGNAL) == 1);
    scene->until([&] { return received(far.get()) == "x"; }, "a byte");
    asking.set_trust(record);
    scene->until([&] { return has_ended(far.get()) && has_ended(client.get()); }, "both ends");
  }
}

}  // namespace cluster
