#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/supervisor/cli/bridge_client.h"

using namespace cli_test;

namespace {

// 100 ms are promised and kept on an idle machine; the next longer time in the bridge is a second.
constexpr Wait kAtOnce = 600ms;

}  // namespace

TEST_CASE("lines pass through the bridge untouched, both ways", "[bridge]") {
  FakeDaemon daemon;
  daemon.start();
  Bridge bridge(daemon, {"CLAUDE_PROJECT_DIR=/some/project"});
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
  bridge.send_line(odd);
  CHECK(peer.lines.line() == odd);
  bridge.send_line("this is not JSON");  // warderd knows best what to answer
  CHECK(peer.lines.line() == "this is not JSON");
  const std::string reply = R"({ "id":"α","extra":null, "jsonrpc":"2.0","result":{ }})";
  peer.send_line(reply);
  CHECK(bridge.out.line() == reply);
}

TEST_CASE("lines that arrive in pieces, several at once, with CR or blank are taken apart right", "[bridge]") {
  FakeDaemon daemon;
  daemon.start();
  Bridge bridge(daemon);
  Peer peer = daemon.accept_bridge();

  write_all(bridge.in.get(), R"({"jsonrpc":"2.0","id":1,)");
  CHECK(peer.lines.quiet_for(50ms));  // no half line goes on
  write_all(bridge.in.get(),
            "\"method\":\"ping\"}\r\n\n  \n" + request(2, "ping").dump() + "\n" + request(3, "ping").dump() + "\n");
  CHECK(peer.request()["id"] == 1);
  CHECK(peer.request()["id"] == 2);
  CHECK(peer.request()["id"] == 3);

  write_all(peer.lines.fd(), R"({"jsonrpc":"2.0","id":3,)");
  CHECK(bridge.out.quiet_for(50ms));
  write_all(peer.lines.fd(), "\"result\":{}}\n" + result(1).dump() + "\n");
  CHECK(bridge.out.message()["id"] == 3);
  CHECK(bridge.out.message()["id"] == 1);
}

TEST_CASE("what the daemon says that is no message never reaches the client", "[bridge]") {
  FakeDaemon daemon;
  daemon.start();
  Bridge bridge(daemon);
  Peer peer = daemon.accept_bridge();
  peer.send_line("Segmentation fault");
  peer.send_line(std::string_view("\0\xff\xfe{", 4));
  peer.send_line(R"({"jsonrpc":"2.0","id":1,"result")");
  peer.send_line(R"("just a string")");
  peer.send_line(std::string(100000, '['));
  peer.send(Json{{"jsonrpc", "2.0"}, {"method", "notifications/message"}});
  CHECK(bridge.out.message()["method"] == "notifications/message");
  CHECK(bridge.err.line()->find("dropped a line") != std::string::npos);
}

TEST_CASE("a line of nine megabytes passes both ways; one over sixteen is answered with an error", "[bridge]") {
  FakeDaemon daemon;
  daemon.start();
  Bridge bridge(daemon);
  Peer peer = daemon.accept_bridge();
  const std::string big(9 << 20, 'x');

  SECTION("nine") {
    // In small steps from one thread: each side must take what the other cannot hold.
    const std::string line = call(1, big).dump();
    pid_t writer = ::fork();
    if (writer == 0) {
      write_all(bridge.in.get(), line + "\n");
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
    CHECK(bridge.out.line() == reply);
    ::waitpid(writer, nullptr, 0);
  }
  SECTION("from the client") {
    const bool last = GENERATE(true, false);  // where official clients put the id
    const std::string whole = call(7, big + big).dump();
    const std::string without = whole.substr(0, whole.size() - 1);
    if (last) {
      REQUIRE(whole.starts_with(R"({"jsonrpc":"2.0","id":7,)"));
      bridge.send_line("{" + without.substr(24) + R"(,"jsonrpc":"2.0","id":7})");
    } else {
      bridge.send_line(whole);
    }
    const Json refused = bridge.out.message();
    CHECK(refused["id"] == 7);
    CHECK(refused["error"]["code"] == -32600);
    bridge.send(call(8));
    CHECK(peer.request()["id"] == 8);  // and nothing of the long one
  }
  SECTION("from the daemon") {
    bridge.send(call(9));
    CHECK(peer.request()["id"] == 9);
    peer.send(result(9, {{"text", big + big}}));
    const Json lost = bridge.out.message();
    CHECK(lost["id"] == 9);
    CHECK(lost["result"]["isError"] == true);
    CHECK(answer_text(lost)["error"].get<std::string>().find("16 MiB") != std::string::npos);
  }
}

TEST_CASE("a client that does not read stops the daemon's answers, not the bridge", "[bridge]") {
  FakeDaemon daemon;
  daemon.start();
  Bridge bridge(daemon);
  Peer peer = daemon.accept_bridge();
  ::fcntl(peer.lines.fd(), F_SETFL, O_NONBLOCK);
  const std::string line = Json{{"jsonrpc", "2.0"}, {"method", "n"}, {"params", std::string(60000, 'x')}}.dump() + "\n";
  size_t sent = 0;
  while (writable_within(peer.lines.fd(), 300ms)) {
    const ssize_t wrote = ::write(peer.lines.fd(), line.data() + sent % line.size(), line.size() - sent % line.size());
    if (wrote > 0) sent += static_cast<size_t>(wrote);
    REQUIRE(sent < (8u << 20));  // its buffers are bounded
  }
  bridge.send(request(1, "ping"));  // the other direction still flows
  CHECK(peer.request()["id"] == 1);
  for (size_t whole = 0; whole < sent / line.size(); whole++) CHECK(bridge.out.line()->size() == line.size() - 1);
}

TEST_CASE("a daemon that does not read stops the client's requests, not the bridge", "[bridge]") {
  FakeDaemon daemon;
  daemon.start();
  Bridge bridge(daemon);
  Peer peer = daemon.accept_bridge();
  ::fcntl(bridge.in.get(), F_SETFL, O_NONBLOCK);
  const std::string line = call(1, std::string(60000, 'x')).dump() + "\n";
  size_t sent = 0;
  while (writable_within(bridge.in.get(), 300ms)) {
    const ssize_t wrote = ::write(bridge.in.get(), line.data() + sent % line.size(), line.size() - sent % line.size());
    if (wrote > 0) sent += static_cast<size_t>(wrote);
    REQUIRE(sent < (8u << 20));
  }
  peer.send(Json{{"jsonrpc", "2.0"}, {"method", "n"}});
  CHECK(bridge.out.message()["method"] == "n");
}

TEST_CASE("a daemon that only hangs up is not called in a hurry", "[bridge]") {
  FakeDaemon daemon;
  daemon.start();
  Bridge bridge(daemon);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 7; i++) daemon.accept_bridge();
  CHECK(std::chrono::steady_clock::now() - start > 700ms);  // 20 + 40 + 80 + 160 + 320 + 640
}

TEST_CASE("the end of the client's input ends the bridge in time", "[bridge]") {
  FakeDaemon daemon;

  SECTION("at once when nothing is owed") {
    daemon.start();
    Bridge bridge(daemon);
    Peer peer = daemon.accept_bridge();
    bridge.in.reset();
    const Ended ended = bridge.wait();
    CHECK(ended.status == 0);
    CHECK(ended.after < kAtOnce);
    CHECK(peer.lines.line() == std::nullopt);
  }
  SECTION("after the answers that are owed, the last line needing no newline") {
    daemon.start();
    Bridge bridge(daemon);
    Peer peer = daemon.accept_bridge();
    bridge.send(call(1));
    write_all(bridge.in.get(), call(2).dump());
    bridge.in.reset();
    CHECK(peer.request()["id"] == 1);
    CHECK(peer.request()["id"] == 2);
    CHECK(peer.lines.line() == std::nullopt);  // half closed
    peer.send(result(2));
    peer.send(result(1));
    CHECK(bridge.out.message()["id"] == 2);
    CHECK(bridge.out.message()["id"] == 1);
    const Ended ended = bridge.wait();
    CHECK(ended.status == 0);
    CHECK(ended.after < kAtOnce);
  }
  SECTION("within about a second when the daemon does not answer") {
    daemon.start();
    Bridge bridge(daemon);
    Peer peer = daemon.accept_bridge();
    bridge.send(call(1));
    CHECK(peer.request()["id"] == 1);
    bridge.in.reset();
    const Ended ended = bridge.wait();
    CHECK(ended.status == 0);
    CHECK(ended.after < 3s);
    CHECK(ended.after > 800ms);
  }
  SECTION("without a daemon") {
    Bridge bridge(daemon);
    bridge.send(call(1));
    bridge.in.reset();
    CHECK(bridge.out.message()["result"]["isError"] == true);
    const Ended ended = bridge.wait();
    CHECK(ended.status == 0);
    CHECK(ended.after < kAtOnce);
  }
  SECTION("while the daemon restarts, what waits is answered first") {
    daemon.start();
    Bridge bridge(daemon);
    Peer peer = daemon.accept_bridge();
    daemon.stop();
    peer.close();
    bridge.send(call(1));
    bridge.in.reset();
    CHECK(bridge.out.message()["result"]["isError"] == true);
    CHECK(bridge.wait().status == 0);
  }
}

TEST_CASE("the bridge never outlives its client", "[bridge]") {
  FakeDaemon daemon;
  daemon.start();

  SECTION("a closed output ends it, even while nothing is said") {
    Bridge bridge(daemon);
    Peer peer = daemon.accept_bridge();
    bridge.out.close();
    const Ended ended = bridge.wait();
    CHECK(ended.status == 0);
    CHECK(ended.after < kAtOnce);
  }
  SECTION("so do signals") {
    const int number = GENERATE(SIGTERM, SIGINT, SIGHUP);
    Bridge bridge(daemon);
    Peer peer = daemon.accept_bridge();
    bridge.signal(number);
    const Ended ended = bridge.wait();
    CHECK(ended.status == 0);
    CHECK(ended.after < kAtOnce);
  }
  SECTION("a client killed while another program holds the bridge's streams open") {
    // We keep both ends of its streams; a shell stands for the client and says the bridge's pid.
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    Process client({"/bin/sh", "-c",
                    "exec 3<&0; " + warder_program() + " mcp --socket " + daemon.path() + " <&3 & echo $! >&2; wait"});
    const pid_t bridge = std::stoi(*client.err.line());
    Peer peer = daemon.accept_bridge();
    CHECK(::kill(bridge, 0) == 0);
    client.signal(SIGKILL);
    CHECK(client.wait().status == -SIGKILL);
    CHECK(peer.lines.line(1s) == std::nullopt);  // it let go of the daemon
    CHECK(ends_within(bridge, kSoon));
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
    Peer peer = daemon.accept_bridge();
    client.signal(SIGUSR1);
    CHECK(client.err.line() == "joined");
    client.send(request(1, "ping"));
    CHECK(peer.request()["id"] == 1);
    peer.send(result(1));
    CHECK(client.out.message()["id"] == 1);
  }
}
