// The self-test's look at the network namespace of a real jail, and the netlink sockets that are left to the daemon.

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/netlink.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "jail/execution/self_test.h"
#include "jail/jail.h"
#include "supervisor/privileges.h"
#include "tests/catch.h"
#include "tests/jail/planted_network.h"
#include "tests/jail/shared_jails.h"

namespace {

using BuiltJail = std::unique_ptr<jail::Jail>;

BuiltJail build_jail(bool tests_host) {
  jail::Spec spec = jails().request(jail::Language::python, "").spec;
  spec.name = "network-test";
  spec.tests_host = tests_host;
  BuiltJail built;
  bool done = false;
  auto build = [&]() -> Task<> {
    auto created = co_await jail::Jail::build(jails().host(), std::move(spec));
    if (created) built = *std::move(created);
    done = true;
  };
  jails().loop().spawn(build());
  jails().loop().run_until([&done] { return done; });
  return built;
}

}  // namespace

TEST_CASE("the self-test saw that a jail has lo and nothing else", "[real]") {
  const auto& host = jails().host();
  INFO(host.network_unseen_why);
  CHECK(host.network_seen.starts_with("1 link, "));
}

TEST_CASE("the self-test fails where a jail's network namespace holds more than lo", "[real]") {
  const auto built = build_jail(true);
  REQUIRE(built);
  std::string why;
  std::thread planter([&] {  // a thread's network namespace is its own
    const Fd space(::open(fmt::format("/proc/{}/ns/net", built->init_pid()).c_str(), O_RDONLY | O_CLOEXEC));
    why = space && ::setns(space.get(), CLONE_NEWNET) == 0 ? plant_route() : "only root enters a jail's namespace";
  });
  planter.join();
  if (!why.empty()) {
    WARN("skipped: " << why);
    return;
  }
  jail::Host& host = jails().host();
  const std::string before = host.network_seen;
  auto proved = jail::check_network(host, built->take_network_socket());
  REQUIRE_FALSE(proved);
  CHECK(proved.error().code == Code::denied);
  CHECK_THAT(proved.error().what, Catch::Matchers::Contains("route 198.51.100.0/24 in table 254"));
  CHECK(host.network_seen.empty());
  host.network_seen = before;
}

TEST_CASE("no other jail gives its network away, and the socket is given once", "[real]") {
  const auto ordinary = build_jail(false);
  REQUIRE(ordinary);
  CHECK_FALSE(ordinary->take_network_socket());
  const auto tested = build_jail(true);
  REQUIRE(tested);
  CHECK(tested->take_network_socket());
  CHECK_FALSE(tested->take_network_socket());
}

TEST_CASE("a host that does not show the namespace is told apart from one that fails", "[real]") {
  jail::Host& host = jails().host();
  const std::string before = host.network_seen;
  CHECK(jail::check_network(host, fail_errno(EAFNOSUPPORT, "open a netlink socket in a jail", Code::unavailable)));
  CHECK(host.network_seen.empty());
  CHECK_THAT(host.network_unseen_why, Catch::Matchers::Contains("open a netlink socket"));
  host.network_unseen_why.clear();
  host.network_seen = before;
}

TEST_CASE("netlink sockets are left to the jailer for one protocol, and to the daemon for none", "[real]") {
  if (::geteuid() != 0) {
    WARN("skipped: only a daemon that root started restricts netlink");
    return;
  }
  auto opens = [](int protocol) {
    return static_cast<bool>(Fd(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol)));
  };
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    int wrong = opens(NETLINK_GENERIC) ? 0 : 1;
    wrong |= restrict_netlink(NetlinkAccess::route) ? 0 : 2;
    wrong |= opens(NETLINK_ROUTE) ? 0 : 4;
    wrong |= opens(NETLINK_GENERIC) || opens(NETLINK_NETFILTER) ? 8 : 0;
    wrong |= restrict_netlink(NetlinkAccess::none) ? 0 : 16;
    wrong |= opens(NETLINK_ROUTE) ? 32 : 0;
    const long wide = ::syscall(SYS_socket, (1L << 32) | AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);  // the kernel reads ints
    wrong |= wide >= 0 ? 128 : 0;
    wrong |= Fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) ? 0 : 64;
    ::_exit(wrong);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}
