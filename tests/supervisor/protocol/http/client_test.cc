#include "supervisor/protocol/http/client.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "tests/catch.h"
#include "tests/temp_directory.h"

using namespace std::chrono_literals;
using http::HttpClient, http::ClientRequest, http::Exchange, http::HttpReply;

namespace {

// Says what it is told to say to each that connects, after it has read a request's head; keeps what it read.
class Server {
 public:
  Server(Loop& loop, std::string says, const std::string& path = {}) : loop_(loop), says_(std::move(says)) {
    Fd socket(::socket(path.empty() ? AF_INET : AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    sockaddr_un file{};
    file.sun_family = AF_UNIX;
    path.copy(file.sun_path, sizeof file.sun_path - 1);
    socklen_t size = path.empty() ? sizeof address : sizeof file;
    auto* name = path.empty() ? reinterpret_cast<sockaddr*>(&address) : reinterpret_cast<sockaddr*>(&file);
    REQUIRE(::bind(socket.get(), name, size) == 0);
    REQUIRE(::listen(socket.get(), 8) == 0);
    if (path.empty()) REQUIRE(::getsockname(socket.get(), name, &size) == 0);
    port_ = ntohs(address.sin_port);
    listening_ = *AsyncFd::adopt(loop, std::move(socket));
    tasks_.spawn(accept_all());
  }
  std::string url(std::string_view path = "/") const { return fmt::format("http://127.0.0.1:{}{}", port_, path); }

  std::string received;
  int connections = 0, exited = 0;
  size_t sent = 0;
  std::string then;             // said when `more` is fired
  std::shared_ptr<Event> more;  // none: the connection is closed after what it says

 private:
  Task<> accept_all() {
    for (;;) {
      Fd client(::accept4(listening_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (!client) {
        co_await listening_.readable();
        continue;
      }
      connections++;
      tasks_.spawn(serve(*AsyncFd::adopt(loop_, std::move(client))));
    }
  }
  Task<> serve(AsyncFd client) {
    char part[4096];
    while (received.find("\r\n\r\n") == received.npos) {
      const ssize_t got = ::recv(client.get(), part, sizeof part, 0);
      if (got > 0) received.append(part, static_cast<size_t>(got));
      if (got == 0) co_return;
      if (got < 0) co_await client.readable();
    }
    co_await say(client, says_);
    if (!more) co_return;
    if (!then.empty()) co_await *more;
    co_await say(client, then);
    for (ssize_t got = -1; got != 0; got = ::recv(client.get(), part, sizeof part, 0))
      if (got < 0) co_await client.readable();
    exited++;
  }
  Task<> say(AsyncFd& client, std::string_view text) {
    while (!text.empty()) {
      const ssize_t wrote = ::send(client.get(), text.data(), text.size(), MSG_NOSIGNAL);
      if (wrote < 0 && errno != EAGAIN) co_return;
      if (wrote < 0) co_await client.writable();
      if (wrote > 0) text.remove_prefix(static_cast<size_t>(wrote)), sent += static_cast<size_t>(wrote);
    }
  }

  Loop& loop_;
  std::string says_;
  uint16_t port_ = 0;
  AsyncFd listening_;
  Scope tasks_{loop_};
};

std::string reply(std::string_view body, std::string_view headers = {}, std::string_view status = "200 OK") {
  return fmt::format("HTTP/1.1 {}\r\nContent-Length: {}\r\n{}\r\n{}", status, body.size(), headers, body);
}

template <class T>
T run(Loop& loop, Task<T> task) {
  auto running = start(std::move(task));
  loop.run_until([&running] { return running.done(); });
  T value = fail(Code::internal, "nothing");
  auto collect = [](Started<T>& from, T& into) -> Task<> { into = co_await from; };
  auto collected = start(collect(running, value));
  return value;
}

struct Fixture {
  Loop loop;
  std::unique_ptr<HttpClient> client = *HttpClient::open(loop);
  Result<HttpReply> fetch(ClientRequest request) { return run(loop, client->fetch(std::move(request))); }
  Result<HttpReply> fetch(const Server& server) { return fetch(ClientRequest{.url = server.url()}); }
};

size_t threads() {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/task"), {}));
}

}  // namespace

TEST_CASE_METHOD(Fixture, "a request says what it is told to, and its reply comes whole", "[http]") {
  Server server(loop, reply("{\"a\": 1}", "Content-Type: application/json\r\nX-Empty:\r\n"));
  ClientRequest request{.method = "POST", .url = server.url("/mcp?x=1"), .headers = {{"X-One", "1"}, {"X-None", ""}}};
  request.body = "hello";
  auto answer = fetch(request);
  REQUIRE(answer);
  CHECK(answer->head.status == 200);
  CHECK(answer->head.header("content-type") == "application/json");
  CHECK(answer->head.header("x-empty").empty());
  CHECK(answer->body == "{\"a\": 1}");
  CHECK(server.received.starts_with("POST /mcp?x=1 HTTP/1.1\r\n"));
  CHECK(server.received.find("\r\nX-One: 1\r\n") != std::string::npos);
  CHECK(server.received.find("\r\nX-None:\r\n") != std::string::npos);
  CHECK(server.received.find("Expect:") == std::string::npos);
}

TEST_CASE_METHOD(Fixture, "any method reaches the server, by a Unix socket too", "[http]") {
  TempDirectory folder;
  const std::string path = folder.path() / "socket";
  Server server(loop, reply("", "", "204 No Content"), path);
  auto answer = fetch({.method = "DELETE", .url = "http://somewhere/mcp", .socket = path});
  REQUIRE(answer);
  CHECK(answer->head.status == 204);
  CHECK(server.received.starts_with("DELETE /mcp HTTP/1.1\r\nHost: somewhere\r\n"));
}

TEST_CASE_METHOD(Fixture, "what the environment says about proxies does not count, and redirects are not followed",
                 "[http]") {
  Server proxy(loop, reply("a proxy"));
  Server server(loop, reply("elsewhere", "Location: " + proxy.url() + "\r\n", "302 Found"));
  ::setenv("http_proxy", proxy.url().c_str(), 1);
  ::setenv("all_proxy", proxy.url().c_str(), 1);
  auto answer = fetch(server);
  ::unsetenv("http_proxy");
  ::unsetenv("all_proxy");
  REQUIRE(answer);
  CHECK(answer->head.status == 302);
  CHECK(answer->body == "elsewhere");
  CHECK(proxy.connections == 0);
}

TEST_CASE_METHOD(Fixture, "a server's words are bounded", "[http]") {
  SECTION("in headers") {
    std::string many;
    for (int i = 0; i < 3000; i++) many += fmt::format("X-{}: {}\r\n", i, std::string(40, 'x'));
    Server server(loop, reply("late", many));
    auto answer = fetch(server);
    REQUIRE_FALSE(answer);
    CHECK(answer.error().code == Code::exhausted);
    CHECK(answer.error().what == "the reply has more than 65536 bytes of headers");
  }
  SECTION("in interim replies") {
    std::string many;
    for (int i = 0; i < 3000; i++) many += "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n";
    Server server(loop, many + reply("late"));
    auto answer = fetch(server);
    REQUIRE_FALSE(answer);
    CHECK(answer.error().code == Code::exhausted);
  }
  SECTION("in its body, whatever length it promised") {
    Server server(loop, "HTTP/1.1 200 OK\r\n\r\n" + std::string(1001, 'x'));
    auto answer = fetch({.url = server.url(), .max_body = 1000});
    REQUIRE_FALSE(answer);
    CHECK(answer.error().what == "the reply is larger than 1000 bytes");
  }
  SECTION("in time") {
    Server server(loop, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc");
    server.more = std::make_shared<Event>();
    auto answer = fetch({.url = server.url(), .limit = 50ms});
    REQUIRE_FALSE(answer);
    CHECK(answer.error().code == Code::unavailable);
    loop.run_until([&server] { return server.exited == 1; });
  }
  SECTION("and a reply that breaks off is none") {
    Server server(loop, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc");
    auto answer = fetch(server);
    REQUIRE_FALSE(answer);
    CHECK(answer.error().code == Code::unavailable);
  }
  SECTION("and what is not HTTP is an error") {
    Server server(loop, "SSH-2.0-OpenSSH\r\n");
    CHECK_FALSE(fetch(server));
  }
}

TEST_CASE_METHOD(Fixture, "a body is read as it comes", "[http]") {
  Server server(loop, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n");
  server.more = std::make_shared<Event>();
  server.then = "data: 2\n\n";
  auto exchange = client->start({.url = server.url()});
  auto head = run(loop, exchange->head());
  REQUIRE(head);
  CHECK(head->header("content-type") == "text/event-stream");
  auto first = run(loop, exchange->read());
  REQUIRE(first);
  CHECK(*first == "data: 1\n\n");
  server.more->fire();
  auto second = run(loop, exchange->read());
  REQUIRE(second);
  CHECK(*second == "data: 2\n\n");
  exchange.reset();  // cancelled: the server sees its client go
  loop.run_until([&server] { return server.exited == 1; });
}

TEST_CASE_METHOD(Fixture, "what is not read is not received", "[http]") {
  constexpr size_t kAll = 64 << 20;  // more than sockets hold
  Server server(loop, "HTTP/1.1 200 OK\r\n\r\n" + std::string(kAll, 'x'));
  auto exchange = client->start({.url = server.url(), .max_body = 2 * kAll});
  REQUIRE(run(loop, exchange->head()));
  for (size_t before = ~size_t{0}; before != server.sent;) {  // until nothing moves
    before = server.sent;
    bool later = false;
    Deadline pause(loop, 50ms, [&later] { later = true; });
    loop.run_until([&later] { return later; });
  }
  CHECK(server.sent < kAll);
  size_t all = 0;
  for (;;) {
    auto part = run(loop, exchange->read());
    REQUIRE(part);
    if (part->empty()) break;
    all += part->size();
  }
  CHECK(all == kAll);
}

TEST_CASE_METHOD(Fixture, "a request may go away at any moment", "[http]") {
  Server server(loop, reply("x"));
  (void)client->start({.url = server.url()});
  (void)client->start({.url = "http://some.host.invalid/"});
  auto other = client->start({.url = server.url()});
  {
    auto waits = start(other->head());  // who waits may go, too
  }
  CHECK(run(loop, other->head()));
}

TEST_CASE_METHOD(Fixture, "who cannot be reached is named in the reason, and no thread looked for him", "[http]") {
  auto no_client = fetch({.url = "http://127.0.0.1:1/"});
  REQUIRE_FALSE(no_client);
  CHECK(no_client.error().code == Code::unavailable);
  CHECK(no_client.error().what.find("127.0.0.1") != std::string::npos);
  auto nowhere = fetch({.url = "http://some.host.invalid/", .connect = 5s});
  REQUIRE_FALSE(nowhere);
  CHECK(nowhere.error().what.find("some.host.invalid") != std::string::npos);
  CHECK(threads() == 1);
}

TEST_CASE_METHOD(Fixture, "what is no URL, header or method is refused before anybody is asked", "[http]") {
  auto url = GENERATE(as<std::string>(), "", "ftp://h/", "file:///etc/passwd", "http://", "http:///x", "http://h:0/",
                      "http://h:99999/", "http://h:8x/", "http://user:pw@h/", "http://h /", "http://[::1/",
                      "http://h\r\nX: y/", "http://h\\x/", "http://[::1]x/");
  CAPTURE(url);
  auto refused = fetch({.url = url});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::invalid);
}

TEST_CASE_METHOD(Fixture, "headers cannot smuggle others in", "[http]") {
  Server server(loop, reply("x"));
  ClientRequest request{.url = server.url()};
  SECTION("by a value") { request.headers = {{"X-A", "1\r\nX-B: 2"}}; }
  SECTION("by a name") { request.headers = {{"X-A: 1\r\nX-B", "2"}}; }
  SECTION("by a method") { request.method = "GET / HTTP/1.1\r\nX-B: 2\r\n"; }
  auto refused = fetch(request);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::invalid);
  CHECK(server.connections == 0);
}

TEST_CASE_METHOD(Fixture, "a request for public hosts reaches no address of this machine or a private network",
                 "[http]") {
  Server server(loop, reply("x"));
  CHECK(fetch({.url = server.url()}));
  ClientRequest request{.url = server.url(), .is_public = true};
  SECTION("a numeric host") {}
  SECTION("a name of this machine") { request.url = "http://localhost" + request.url.substr(request.url.rfind(':')); }
  SECTION("the addresses of a name") {
    request.url = "http://host.example" + request.url.substr(request.url.rfind(':'));
    request.addresses = {"1.1.1.1", "127.0.0.1"};
  }
  SECTION("a private network") { request.url = "http://10.0.0.1:9/"; }
  auto refused = fetch(request);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::denied);
  CHECK(server.connections == 1);
}

TEST_CASE("a URL is where it leads", "[http]") {
  auto plain = http::parse_url("http://host/x:y@z");
  REQUIRE(plain);
  CHECK((!plain->secure && plain->host == "host" && plain->port == "80"));
  auto six = http::parse_url("https://[::1]:8443?q");
  REQUIRE(six);
  CHECK((six->secure && six->host == "::1" && six->port == "8443"));
}
