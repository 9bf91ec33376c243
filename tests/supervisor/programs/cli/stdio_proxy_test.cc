#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/supervisor/programs/cli/proxy_client.h"

using namespace cli_test;

namespace {

// 100 ms are promised and kept on an idle machine; the next longer time in the proxy is a second. On a slow or busy
// machine the bound grows with the time that a program needs to do nothing.
Wait at_once() {
  static const Wait bound = [] {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 3; i++) Process({warder_program(), "--version"}).wait();
    return 600ms + 5 * std::chrono::duration_cast<Wait>(std::chrono::steady_clock::now() - start);
  }();
  return bound;
}

}  // namespace

TEST_CASE("lines pass through the proxy untouched, both ways", "[proxy]") {
  FakeDaemon daemon;
  daemon.start();
  Proxy proxy(daemon, {"CLAUDE_PROJECT_DIR=/some/project"});
  Peer peer = daemon.accept();

  const Json hello = peer.request();
  CHECK(hello["method"] == "notifications/org.warder/hello");
  CHECK_FALSE(hello.contains("id"));
  CHECK(hello["params"]["project_dir"] == "/some/project");
  CHECK(hello["params"]["client_pid"] == ::getpid());
  char* cwd = ::getcwd(nullptr, 0);
  CHECK(hello["params"]["cwd"] == cwd);
  std::free(cwd);

  const std::string odd = R"( { "params":{"a" : [1, "\u0041\"}"]}, "method":"x/y" ,"id": "α", "jsonrpc":"2.0"}  )";
  proxy.send_line(odd);
  CHECK(peer.lines.line() == odd);
  proxy.send_line("this is not JSON");  // warderd knows best what to answer
  CHECK(peer.lines.line() == "this is not JSON");
  const std::string reply = R"({ "id":"α","extra":null, "jsonrpc":"2.0","result":{ }})";
  peer.send_line(reply);
  CHECK(proxy.out.line() == reply);
}

TEST_CASE("lines that arrive in pieces, several at once, with CR or blank are taken apart right", "[proxy]") {
  FakeDaemon daemon;
  daemon.start();
  Proxy proxy(daemon);
  Peer peer = daemon.accept_proxy();

  write_all(proxy.in.get(), R"({"jsonrpc":"2.0","id":1,)");
  CHECK(peer.lines.quiet_for(50ms));  // no half line goes on
  write_all(proxy.in.get(),
            "\"method\":\"ping\"}\r\n\n  \n" + request(2, "ping").dump() + "\n" + request(3, "ping").dump() + "\n");
  CHECK(peer.request()["id"] == 1);
  CHECK(peer.request()["id"] == 2);
  CHECK(peer.request()["id"] == 3);

  write_all(peer.lines.fd(), R"({"jsonrpc":"2.0","id":3,)");
  CHECK(proxy.out.quiet_for(50ms));
  write_all(peer.lines.fd(), "\"result\":{}}\n" + result(1).dump() + "\n");
  CHECK(proxy.out.message()["id"] == 3);
  CHECK(proxy.out.message()["id"] == 1);
}

TEST_CASE("what the daemon says that is no message never reaches the client", "[proxy]") {
  FakeDaemon daemon;
  daemon.start();
  Proxy proxy(daemon);
  Peer peer = daemon.accept_proxy();
  peer.send_line("Segmentation fault");
  peer.send_line(std::string_view("\0\xff\xfe{", 4));
  peer.send_line(R"({"jsonrpc":"2.0","id":1,"result")");
  peer.send_line(R"("just a string")");
  peer.send_line(std::string(100000, '['));
  peer.send(Json{{"jsonrpc", "2.0"}, {"method", "notifications/message"}});
  CHECK(proxy.out.message()["method"] == "notifications/message");
  CHECK(proxy.err.line()->find("dropped a line") != std::string::npos);
}

TEST_CASE("a line of nine megabytes passes both ways; one over sixteen is answered with an error", "[proxy]") {
  FakeDaemon daemon;
  daemon.start();
  Proxy proxy(daemon);
  Peer peer = daemon.accept_proxy();
  const std::string big(9 << 20, 'x');

  SECTION("nine") {
    // In small steps from one thread: each side must take what the other cannot hold.
    const std::string line = call(1, big).dump();
    pid_t writer = ::fork();
    if (writer == 0) {
      write_all(proxy.in.get(), line + "\n");
      ::_exit(0);
    }
    CHECK(peer.lines.line() == line);
    ::waitpid(writer, nullptr, 0);
    const std::string reply = result(1, {{"content", {{{"type", "text"}, {"text", big}}}}}).dump();
    writer = ::fork();
    if (writer == 0) {
      peer.send_line(reply);
      ::_exit(0);
    }
    CHECK(proxy.out.line() == reply);
    ::waitpid(writer, nullptr, 0);
  }
  SECTION("from the client") {
    const bool last = GENERATE(true, false);  // where official clients put the id
    const std::string text = call(7, big + big).dump();
    const std::string without = text.substr(0, text.size() - 1);
    if (last) {
      REQUIRE(text.starts_with(R"({"jsonrpc":"2.0","id":7,)"));
      proxy.send_line("{" + without.substr(24) + R"(,"jsonrpc":"2.0","id":7})");
    } else {
      proxy.send_line(text);
    }
    const Json refused = proxy.out.message();
    CHECK(refused["id"] == 7);
    CHECK(refused["error"]["code"] == -32600);
    proxy.send(call(8));
    CHECK(peer.request()["id"] == 8);  // and nothing of the long one
  }
  SECTION("from the daemon") {
    proxy.send(call(9));
    CHECK(peer.request()["id"] == 9);
    peer.send(result(9, {{"text", big + big}}));
    const Json lost = proxy.out.message();
    CHECK(lost["id"] == 9);
    CHECK(lost["result"]["isError"] == true);
    CHECK(answer_text(lost)["error"].get<std::string>().find("16 MiB") != std::string::npos);
  }
}

TEST_CASE("a client that does not read stops the daemon's answers, not the proxy", "[proxy]") {
  FakeDaemon daemon;
  daemon.start();
  Proxy proxy(daemon);
  Peer peer = daemon.accept_proxy();
  ::fcntl(peer.lines.fd(), F_SETFL, O_NONBLOCK);
  const std::string line = Json{{"jsonrpc", "2.0"}, {"method", "n"}, {"params", std::string(60000, 'x')}}.dump() + "\n";
  size_t sent = 0;
  while (writable_within(peer.lines.fd(), 300ms)) {
    const ssize_t wrote = ::write(peer.lines.fd(), line.data() + sent % line.size(), line.size() - sent % line.size());
    if (wrote > 0) sent += static_cast<size_t>(wrote);
    REQUIRE(sent < (8u << 20));  // its buffers are bounded
  }
  proxy.send(request(1, "ping"));  // the other direction still flows
  CHECK(peer.request()["id"] == 1);
  for (size_t full = 0; full < sent / line.size(); full++) CHECK(proxy.out.line()->size() == line.size() - 1);
}

TEST_CASE("a daemon that does not read stops the client's requests, not the proxy", "[proxy]") {
  FakeDaemon daemon;
  daemon.start();
  Proxy proxy(daemon);
  Peer peer = daemon.accept_proxy();
  ::fcntl(proxy.in.get(), F_SETFL, O_NONBLOCK);
  const std::string line = call(1, std::string(60000, 'x')).dump() + "\n";
  size_t sent = 0;
  while (writable_within(proxy.in.get(), 300ms)) {
    const ssize_t wrote = ::write(proxy.in.get(), line.data() + sent % line.size(), line.size() - sent % line.size());
    if (wrote > 0) sent += static_cast<size_t>(wrote);
    REQUIRE(sent < (8u << 20));
  }
  peer.send(Json{{"jsonrpc", "2.0"}, {"method", "n"}});
  CHECK(proxy.out.message()["method"] == "n");
}

TEST_CASE("a daemon that only hangs up is not called in a hurry", "[proxy]") {
  FakeDaemon daemon;
  daemon.start();
  Proxy proxy(daemon);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 7; i++) daemon.accept_proxy();
  CHECK(std::chrono::steady_clock::now() - start > 700ms);  // 20 + 40 + 80 + 160 + 320 + 640
}

TEST_CASE("the end of the client's input ends the proxy in time", "[proxy]") {
  FakeDaemon daemon;

  SECTION("at once when nothing is owed") {
    daemon.start();
    Proxy proxy(daemon);
    Peer peer = daemon.accept_proxy();
    proxy.in.reset();
    const Ended ended = proxy.wait();
    CHECK(ended.status == 0);
    CHECK(ended.after < at_once());
    CHECK(peer.lines.line() == std::nullopt);
  }
  SECTION("after the answers that are owed, the last line needing no newline") {
    daemon.start();
    Proxy proxy(daemon);
    Peer peer = daemon.accept_proxy();
    proxy.send(call(1));
    write_all(proxy.in.get(), call(2).dump());
    proxy.in.reset();
    CHECK(peer.request()["id"] == 1);
    CHECK(peer.request()["id"] == 2);
    CHECK(peer.lines.line() == std::nullopt);  // half closed
    peer.send(result(2));
    peer.send(result(1));
    CHECK(proxy.out.message()["id"] == 2);
    CHECK(proxy.out.message()["id"] == 1);
    const Ended ended = proxy.wait();
    CHECK(ended.status == 0);
    CHECK(ended.after < at_once());
  }
  SECTION("within about a second when the daemon does not answer") {
    daemon.start();
    Proxy proxy(daemon);
    Peer peer = daemon.accept_proxy();
    proxy.send(call(1));
    CHECK(peer.request()["id"] == 1);
    proxy.in.reset();
    const Json answer = proxy.out.message();
    CHECK(answer["id"] == 1);
    CHECK(answer["result"]["isError"] == true);
    CHECK(answer.dump().find("may_have_run\\\":true") != std::string::npos);
    const Ended ended = proxy.wait();
    CHECK(ended.status == 0);
    CHECK(ended.after < kSoon);
  }
  SECTION("without a daemon") {
    Proxy proxy(daemon);
    proxy.send(call(1));
    proxy.in.reset();
    CHECK(proxy.out.message()["result"]["isError"] == true);
    const Ended ended = proxy.wait();
    CHECK(ended.status == 0);
    CHECK(ended.after < at_once());
  }
  SECTION("while the daemon restarts, what waits is answered first") {
    daemon.start();
    Proxy proxy(daemon);
    Peer peer = daemon.accept_proxy();
    daemon.stop();
    peer.close();
    proxy.send(call(1));
    proxy.in.reset();
    CHECK(proxy.out.message()["result"]["isError"] == true);
    CHECK(proxy.wait().status == 0);
  }
}

TEST_CASE("the proxy never outlives its client", "[proxy]") {
  FakeDaemon daemon;
  daemon.start();

  SECTION("a closed output ends it, even while nothing is said") {
    Proxy proxy(daemon);
    Peer peer = daemon.accept_proxy();
    proxy.out.close();
    const Ended ended = proxy.wait();
    CHECK(ended.status == 0);
    CHECK(ended.after < at_once());
  }
  SECTION("so do signals") {
    const int number = GENERATE(SIGTERM, SIGINT, SIGHUP);
    Proxy proxy(daemon);
    Peer peer = daemon.accept_proxy();
    proxy.signal(number);
    const Ended ended = proxy.wait();
    CHECK(ended.status == 0);
    CHECK(ended.after < at_once());
  }
  SECTION("a client killed while another program holds the proxy's streams open") {
    // We keep both ends of its streams; a shell stands for the client and says the proxy's pid.
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    Process client({"/bin/sh", "-c",
                    "exec 3<&0; " + warder_program() + " mcp --socket " + daemon.path() + " <&3 & echo $! >&2; wait"});
    const pid_t proxy = std::stoi(*client.err.line());
    Peer peer = daemon.accept_proxy();
    CHECK(::kill(proxy, 0) == 0);
    client.signal(SIGKILL);
    CHECK(client.wait().status == -SIGKILL);
    CHECK(peer.lines.line(1s) == std::nullopt);  // it let go of the daemon
    CHECK(ends_within(proxy, kSoon));
  }
  SECTION("but a client whose spawning thread ends is still there") {
    Process client({"/usr/bin/python3", "-c", R"(
import signal, subprocess, sys, threading
started, connected = [], threading.Event()
signal.signal(signal.SIGUSR1, lambda *_: connected.set())
def spawn():
    started.append(subprocess.Popen(sys.argv[1:]))
    connected.wait()
thread = threading.Thread(target=spawn)
thread.start()
thread.join()
sys.stderr.write('joined\n')
started[0].wait()
)",
                    warder_program(), "mcp", "--socket", daemon.path()});
    Peer peer = daemon.accept_proxy();
    client.signal(SIGUSR1);
    CHECK(client.err.line() == "joined");
    client.send(request(1, "ping"));
    CHECK(peer.request()["id"] == 1);
    peer.send(result(1));
    CHECK(client.out.message()["id"] == 1);
  }
}
