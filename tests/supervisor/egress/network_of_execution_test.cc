// The network of one execution, with the real service behind its socket. Clients of the test connect to the listener,
// in place of a program in a jail; their requests are refused before a host is dialled.
#include "supervisor/egress/network_of_execution.h"

#include <arpa/inet.h>
#include <sys/un.h>

#include "supervisor/egress/service.h"
#include "tests/supervisor/executions/runs/scene.h"

using Catch::Matchers::Contains;
using runs_test::IdleScene;

namespace {

// A TCP socket of this machine, as the jailer makes it in a jail: bound, and not listening.
struct JailListener {
  Fd socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  sockaddr_in address{};
  explicit JailListener(uint16_t port = 0) {
    const int on = 1;
    ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = port;
    REQUIRE(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    socklen_t size = sizeof address;
    REQUIRE(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
  }
};

struct NetworkScene : IdleScene {
  egress::EgressLink egress{loop, (temp.path() / "egress").string(), *disk};
  std::unique_ptr<egress::EgressService> service;
  std::unique_ptr<mcp::RequestContext> client;
  std::optional<calls::CallContext> caller;
  JailListener listener;
  std::optional<egress::NetworkOfExecution> network;

  NetworkScene() {
    change_policy([](policies::Policy& policy) {
      policy.egress.rules.push_back({.name = "people", .host = "ask.example", .ports = {443}});
      policy.egress.rules.back().verdict = policies::Verdict::ask;
      policy.egress.connections = 4;
      policy.egress.bytes_up = policy.egress.bytes_down = 1 << 20;
      policy.egress.seconds = std::chrono::seconds(10);
    });
  }
  void serve() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = temp.path() / "egress";
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    Fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    REQUIRE(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    REQUIRE(::listen(socket.get(), 4) == 0);
    service = egress::EgressService::open(loop, std::move(socket), {}).value();
  }
  // The program begins.
  void begin() {
    client = request();
    caller.emplace(calls::CallContext{registry.requester_of(*client).value(), *client, "e1"});
    network.emplace(egress, calls, *caller);
    REQUIRE(finish(prepared()));
    network->begin(listener.socket.get());
  }
  Task<Result<>> prepared() {
    auto ready = co_await network->prepare();
    co_return ready;
  }
  // The answer to a program that asks for a tunnel to this host; empty: the connection was closed.
  std::string ask_for(const std::string& name) {
    Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const auto* address = reinterpret_cast<const sockaddr*>(&listener.address);
    REQUIRE(::connect(socket.get(), address, sizeof listener.address) == 0);
    const std::string head = "CONNECT " + name + " HTTP/1.1\r\nHost: " + name + "\r\n\r\n";
    REQUIRE(::send(socket.get(), head.data(), head.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(head.size()));
    std::string answer;
    const auto is_over = [&] {
      char part[4096];
      const ssize_t size = ::recv(socket.get(), part, sizeof part, MSG_DONTWAIT);
      if (size > 0) answer.append(part, static_cast<size_t>(size));
      return size == 0 || (size < 0 && errno != EAGAIN) || answer.find("\r\n\r\n") != answer.npos;
    };
    REQUIRE(run_until(loop, is_over));
    return answer;
  }
  void end() {
    const auto finished = [](egress::NetworkOfExecution& on) -> Task<bool> {
      co_await on.finish();
      co_return true;
    };
    REQUIRE(finish(finished(*network)));
  }
  int64_t audited() { return finish(journal->head()).value().count; }
};

}  // namespace

TEST_CASE("a program that opens no connection has no totals, and the service no connection", "[network]") {
  NetworkScene scene;
  scene.begin();
  scene.end();
  CHECK_FALSE(scene.network->totals());
  CHECK(scene.network->trouble().empty());
  CHECK_FALSE(scene.egress.is_connected());
}

TEST_CASE("a request to a host without a rule is refused, counted and audited", "[network]") {
  NetworkScene scene;
  scene.serve();
  scene.begin();
  const int64_t before = scene.audited();
  CHECK_THAT(scene.ask_for("denied.example:443"), Contains(" 403 "));
  CHECK_THAT(scene.ask_for("denied.example:443"), Contains(" 403 "));
  scene.end();
  REQUIRE(scene.network->totals());
  CHECK(scene.network->totals()->requests == 2);
  CHECK(scene.network->totals()->denied == 2);
  REQUIRE(scene.network->refused().size() == 1);  // without repetitions
  CHECK(scene.network->refused()[0].host == "denied.example:443");
  CHECK_FALSE(scene.network->refused()[0].why.empty());
  CHECK(scene.network->refused()[0].rule.empty());
  CHECK(scene.audited() == before + 1);  // the repetition is counted in the first one's entry
  CHECK(scene.network->trouble().empty());
}

TEST_CASE("of many refused hosts the first five are named, and no name is longer than a line", "[network]") {
  NetworkScene scene;
  scene.serve();
  scene.begin();
  const std::string label(60, 'a');
  CHECK_FALSE(scene.ask_for(label + "." + label + "." + label + ".example:443").empty());
  for (const char* host : {"a.example:1", "b.example:2", "c.example:3", "d.example:4", "e.example:5", "f.example:6"})
    CHECK_THAT(scene.ask_for(host), Contains(" 403 "));
  scene.end();
  CHECK(scene.network->totals()->denied == 7);
  REQUIRE(scene.network->refused().size() == 5);
  CHECK(scene.network->refused()[0].host.size() < 200);
  CHECK(scene.network->refused()[4].host == "d.example:4");
}

TEST_CASE("a rule that asks a person shows the host, and refuses without an approval", "[network]") {
  NetworkScene scene;
  scene.serve();
  calls::Approval visible;
  const auto position = scene.approvals.observe(
      {.changed =
           [&](const calls::Approval& approval, calls::Approvals::RequestChange subject, std::string_view) {
             if (subject != calls::Approvals::RequestChange::requested) return;
             visible = approval;
             scene.loop.defer([&] {
               using Kind = calls::ApprovalVerdict::Kind;
               (void)scene.approvals.settle(visible.id, {Kind::denied, "ada", "no"});
             });
           },
       .can_decide = [] { return true; }});
  scene.begin();
  CHECK_THAT(scene.ask_for("ask.example:443"), Contains(" 403 "));
  scene.end();
  CHECK(visible.tool == "network: CONNECT ask.example:443");
  CHECK_THAT(visible.rule, Contains("people"));
  CHECK_THAT(visible.arguments, Contains("ask.example"));
  CHECK(visible.execution == "e1");
  REQUIRE(scene.network->refused().size() == 1);
  CHECK_THAT(scene.network->refused()[0].rule, Contains("egress.rules[0]"));
}

TEST_CASE("where no person can be asked, a rule that asks refuses", "[network]") {
  NetworkScene scene;
  scene.serve();
  scene.begin();
  CHECK_THAT(scene.ask_for("ask.example:443"), Contains(" 403 "));
  CHECK(scene.approvals.all().empty());
  scene.end();
  CHECK(scene.network->totals()->denied == 1);
}

TEST_CASE("without the service connections are closed, and the answer says why", "[network]") {
  NetworkScene scene;
  scene.begin();
  CHECK(scene.ask_for("ask.example:443").empty());
  scene.end();
  CHECK_THAT(scene.network->trouble(), Contains("warder-egress does not answer"));
  CHECK_THAT(scene.network->trouble(),
             Contains("if the package warder-egress is missing, the administrator can install it"));
  CHECK_FALSE(scene.network->totals());
}

TEST_CASE("a process of the jail that listens on the proxy's port leaves the program without a network", "[network]") {
  NetworkScene scene;
  const JailListener other(scene.listener.address.sin_port);
  const int off = 0;
  ::setsockopt(scene.listener.socket.get(), SOL_SOCKET, SO_REUSEPORT, &off, sizeof off);
  REQUIRE(::listen(other.socket.get(), 4) == 0);
  scene.begin();
  CHECK_THAT(scene.network->trouble(), Contains("has taken the port of the proxy"));
  scene.end();
}

TEST_CASE("a secret that cannot be read stops the execution before its program", "[network]") {
  NetworkScene scene;
  const std::string file = scene.temp.path() / "secret";
  scene.change_policy([&](policies::Policy& policy) {
    policy.egress.rules[0].secret = policies::EgressSecret{"Authorization", file};
  });
  scene.client = scene.request();
  scene.caller.emplace(calls::CallContext{scene.registry.requester_of(*scene.client).value(), *scene.client, "e1"});
  scene.network.emplace(scene.egress, scene.calls, *scene.caller);
  const auto missing = scene.finish(scene.network->prepare());
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == Code::unavailable);
  CHECK_THAT(missing.error().what, Contains("egress.rules[0]"));
  runs_test::put(file, "Bearer 0123456789abcdef\n");
  CHECK(scene.finish(scene.network->prepare()));
}
