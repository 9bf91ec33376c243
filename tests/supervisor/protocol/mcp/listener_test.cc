#include "supervisor/protocol/mcp/listener.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "tests/supervisor/protocol/mcp/harness.h"

using namespace mcp_test;

namespace {

struct Folder {
  std::string path = "/tmp/mcp-listener-XXXXXX";
  Folder() { REQUIRE(::mkdtemp(path.data()) != nullptr); }
  ~Folder() { std::filesystem::remove_all(path); }
};

struct Numbered : mcp::ConnectionUser {
  explicit Numbered(int which) : number(which) {}
  const int number;
};

bool has_number(const std::shared_ptr<mcp::ConnectionUser>& user, int number) {
  return dynamic_cast<const Numbered&>(*user).number == number;
}

Result<std::shared_ptr<mcp::ConnectionUser>> admit_all(const mcp::Principal&) {
  return std::shared_ptr<mcp::ConnectionUser>();
}

struct Listening : Fixture {
  Folder folder;
  std::string path = folder.path + "/s";
  mcp::ListenerLimits listener_limits;
  std::unique_ptr<mcp::Listener> listener;
  std::vector<mcp::Principal> principals;

  void open() {
    Fd socket = mcp::listen_at(path, 0600).value();
    auto admit = [this](const mcp::Principal& principal) -> Result<std::shared_ptr<mcp::ConnectionUser>> {
      principals.push_back(principal);
      return std::make_shared<Numbered>(7);
    };
    listener = mcp::Listener::open(loop, server, std::move(socket), listener_limits, admit).value();
  }
  std::unique_ptr<Client> dial() {
    auto client = Client::connect(loop, path);
    REQUIRE(client);
    return client;
  }
};

}  // namespace

TEST_CASE("the kernel tells the server who connected", "[mcp]") {
  Listening f;
  f.open();
  auto client = f.dial();
  CHECK(client->ask(request(1, "ping"))["id"] == 1);
  REQUIRE(f.principals.size() == 1);
  const auto& peer = f.principals[0].peer();
  REQUIRE(peer);
  CHECK(peer->pid == ::getpid());
  CHECK(peer->uid == ::getuid());
  CHECK(peer->gid == ::getgid());
  client->send(modern(2, "tools/call", {{"name", "hold"}}));
  wait_until(f.loop, [&] { return f.reserved == 1; });
  CHECK(has_number(f.last_context->user, 7));
}

TEST_CASE("the kernel tells the server all the groups of who connected", "[mcp]") {
  std::vector<gid_t> before(static_cast<size_t>(::getgroups(0, nullptr)));
  REQUIRE(::getgroups(static_cast<int>(before.size()), before.data()) >= 0);
  std::vector<gid_t> groups = before;
  if (::geteuid() == 0) {
    for (gid_t group = 5000; group < 5100; group++) groups.push_back(group);
    REQUIRE(::setgroups(groups.size(), groups.data()) == 0);
  }
  Listening f;
  f.open();
  auto client = f.dial();
  if (::geteuid() == 0) REQUIRE(::setgroups(before.size(), before.data()) == 0);
  CHECK(client->ask(request(1, "ping"))["id"] == 1);
  REQUIRE(f.principals.size() == 1);
  REQUIRE(f.principals[0].peer());
  std::vector<gid_t> report = f.principals[0].peer()->groups;
  std::sort(groups.begin(), groups.end());
  std::sort(report.begin(), report.end());
  CHECK(report == groups);
}

TEST_CASE("the socket file has its mode from the start and replaces only what nobody serves", "[mcp]") {
  Folder folder;
  const std::string path = folder.path + "/s";
  {
    Fd first = mcp::listen_at(path, 0600).value();
    struct stat s {};
    REQUIRE(::stat(path.c_str(), &s) == 0);
    CHECK((s.st_mode & 0777) == 0600);
    auto second = mcp::listen_at(path, 0600);
    REQUIRE_FALSE(second);
    CHECK(second.error().what == "another server listens on '" + path + "'");
  }
  CHECK(mcp::listen_at(path, 0600));  // the first is gone, its file is not
  std::filesystem::remove(path);
  Fd file(::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  auto over_a_file = mcp::listen_at(path, 0600);
  REQUIRE_FALSE(over_a_file);
  CHECK(over_a_file.error().what == "'" + path + "' exists and is not a socket");
  CHECK(std::filesystem::exists(path));
  auto too_long = mcp::listen_at(folder.path + std::string(200, 'x'), 0600);
  REQUIRE_FALSE(too_long);
  CHECK(too_long.error().code == Code::invalid);
}

TEST_CASE("only a listening Unix stream socket can be served", "[mcp]") {
  Fixture f;
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
  Fd other(ends[1]);
  auto listener = mcp::Listener::open(f.loop, f.server, Fd(ends[0]), {}, admit_all);
  REQUIRE_FALSE(listener);
  CHECK(listener.error().code == Code::invalid);
}

TEST_CASE("connections beyond a limit are told so and closed; the rest work", "[mcp]") {
  Listening f;
  SECTION("in all") { f.listener_limits.connections = 3; }
  SECTION("per user") { f.listener_limits.connections_per_principal = 3; }
  f.open();
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 3; i++) {
    clients.push_back(f.dial());
    CHECK(clients.back()->ask(request(1, "ping"))["id"] == 1);
  }
  auto refused = f.dial();
  auto why = refused->message();
  CHECK_FALSE(why.contains("id"));
  CHECK(why["error"]["data"]["code"] == "exhausted");
  CHECK(why["error"]["data"]["org.warder/not-run"] == "refused");
  CHECK(refused->at_end());
  CHECK(clients[0]->ask(request(2, "ping"))["id"] == 2);
  clients.pop_back();
  wait_until(f.loop, [&] { return f.listener->connections() == 2; });
  CHECK(f.dial()->ask(request(3, "ping"))["id"] == 3);
}

TEST_CASE("a user's limits are of all sockets together", "[mcp]") {
  Listening f;
  f.listener_limits.connections_per_principal = 2;
  f.open();
  auto first = f.dial();
  CHECK(first->ask(request(1, "ping"))["id"] == 1);
  Folder other;
  const std::string path = other.path + "/s";
  auto second = mcp::Listener::open(f.loop, f.server, mcp::listen_at(path, 0600).value(), f.listener_limits, admit_all);
  REQUIRE(second);
  auto there = Client::connect(f.loop, path);
  CHECK(there->ask(request(1, "ping"))["id"] == 1);
  for (auto& refused : {f.dial(), Client::connect(f.loop, path)})
    CHECK(refused->message()["error"]["data"]["code"] == "exhausted");
  there.reset();
  wait_until(f.loop, [&] { return (*second)->connections() == 0; });
  CHECK(f.dial()->ask(request(2, "ping"))["id"] == 2);
}

TEST_CASE("a peer that is not admitted gets the reason", "[mcp]") {
  Listening f;
  Fd socket = mcp::listen_at(f.path, 0600).value();
  auto admit = [](const mcp::Principal& principal) -> Result<std::shared_ptr<mcp::ConnectionUser>> {
    return fail(Code::denied, principal.displayed() + " has no tenant");
  };
  f.listener = mcp::Listener::open(f.loop, f.server, std::move(socket), {}, admit).value();
  auto client = f.dial();
  auto answer = client->ask(request(1, "initialize", {{"protocolVersion", "2025-11-25"}}));
  CHECK(answer["error"]["message"] == "user " + std::to_string(::getuid()) + " has no tenant");
  CHECK(answer["error"]["data"]["org.warder/not-run"] == "refused");
  CHECK(client->at_end());
}

TEST_CASE("after stop() nobody new comes in and who is there stays", "[mcp]") {
  Listening f;
  f.open();
  auto client = f.dial();
  client->ask(request(1, "ping"));
  f.listener->stop();
  CHECK(Client::connect(f.loop, f.path) == nullptr);
  CHECK(client->ask(request(2, "ping"))["id"] == 2);
}

TEST_CASE("running out of descriptors turns clients away instead of stopping the server", "[mcp]") {
  Listening f;
  f.open();
  auto client = f.dial();
  client->ask(request(1, "ping"));
  Fd waiting(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  auto late = std::make_unique<Client>(f.loop, std::move(waiting));

  std::vector<Fd> hogs;  // every descriptor there is, under a limit that makes that quick
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  const rlimit few{open_descriptors() + 20, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
  for (;;) {
    Fd hog(::fcntl(0, F_DUPFD_CLOEXEC, 0));
    if (!hog) break;
    hogs.push_back(std::move(hog));
  }
  hogs.pop_back();
  std::unique_ptr<Client> turned_away = f.dial();  // takes the last one: accept() has none
  const auto why = turned_away->message();
  CHECK(turned_away->at_end());
  CHECK(client->ask(request(2, "ping"))["id"] == 2);
  hogs.clear();
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK(why["error"]["message"] == "the server has no free file descriptors; try again later");
  CHECK(f.dial()->ask(request(3, "ping"))["id"] == 3);
}

TEST_CASE("thousands of connections come and go and leave nothing behind", "[mcp]") {
  Listening f;
  rlimit limit{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
  const size_t max = std::min<size_t>(2000, (limit.rlim_cur - open_descriptors() - 50) / 2);
  f.listener_limits.connections = f.listener_limits.connections_per_principal = max;
  f.open();
  settle(f.loop);
  const size_t before = open_descriptors();
  {
    std::vector<std::unique_ptr<Client>> clients;
    for (size_t i = 0; i < max; i++) {
      clients.push_back(f.dial());
      clients.back()->send(request(i, "ping"));
      if (i % 100 == 0) settle(f.loop);  // the backlog is shorter than that
    }
    size_t answered = 0;
    for (size_t i = 0; i < max; i++) answered += clients[i]->message()["id"] == i;
    CHECK(answered == max);
    CHECK(f.listener->connections() == max);
  }
  wait_until(f.loop, [&] { return f.listener->connections() == 0; });
  settle(f.loop);
  CHECK(open_descriptors() == before);
}

TEST_CASE("chosen connections are ended with all they asked for, the others are not", "[mcp]") {
  Listening f;
  f.open();
  auto client = f.dial();
  client->ask(request(1, "ping"));
  client->send(modern(2, "tools/call", {{"name", "hold"}}));
  wait_until(f.loop, [&] { return f.reserved == 1; });
  f.listener->close_if([](const auto& user) { return has_number(user, 8); });
  CHECK(client->ask(request(3, "ping"))["id"] == 3);
  f.listener->close_if([](const auto& user) { return has_number(user, 7); });
  CHECK(client->at_end());
  CHECK(f.cancelled == 1);
  CHECK(f.listener->connections() == 0);
}
