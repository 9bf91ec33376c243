#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>

#include "tests/supervisor/programs/cli/proxy_client.h"

using namespace cli_test;

TEST_CASE("a restart of the daemon in the middle of calls", "[proxy]") {
  FakeDaemon daemon;
  daemon.start();
  Proxy proxy(daemon);
  Peer peer = daemon.accept_proxy();

  SECTION("a call that may have run is answered with a tool error that says so") {
    shake_hands(proxy, peer);
    proxy.send(call("a"));
    proxy.send(call(2));
    CHECK(peer.request()["id"] == "a");
    CHECK(peer.request()["id"] == 2);
    peer.close();
    for (const Json& id : {Json("a"), Json(2)}) {
      const Json lost = proxy.out.message();
      CAPTURE(lost.dump());
      CHECK((lost["id"] == id || lost["id"] == (id == 2 ? Json("a") : Json(2))));
      CHECK(lost["result"]["isError"] == true);
      CHECK_FALSE(lost["result"].contains("resultType"));
      CHECK(answer_text(lost)["success"] == false);
      CHECK(answer_text(lost)["error"].get<std::string>().find("may have run") != std::string::npos);
      CHECK(answer_text(lost)["may_have_run"] == true);
      CHECK(answer_text(lost)["remedy"].get<std::string>().find("then call again") != std::string::npos);
    }
  }
  SECTION("in the modern era the answer has that era's form") {
    proxy.send(modern_request(1, "tools/call", {{"name", "execute_code"}}));
    CHECK(peer.request()["id"] == 1);
    peer.close();
    const Json lost = proxy.out.message();
    CHECK(lost["result"]["resultType"] == "complete");
    CHECK(lost["result"]["isError"] == true);
  }
  SECTION("a call of another kind that must not run twice gets a JSON-RPC error") {
    proxy.send(modern_request(1, "tasks/cancel", {{"taskId", "t"}}));
    CHECK(peer.request()["id"] == 1);
    peer.close();
    CHECK(proxy.out.message()["error"]["code"] == -32603);
  }
  SECTION("the handshake is said again, its second answer swallowed, and the list announced as changed") {
    shake_hands(proxy, peer);
    peer.close();
    Peer retry = daemon.accept_proxy();
    const Json repeated = retry.request();
    CHECK(repeated["method"] == "initialize");
    CHECK(repeated["params"] == kInitialize);
    CHECK(repeated["id"] != 0);
    CHECK(retry.request() == kInitialized);
    retry.send(result(repeated["id"], {{"protocolVersion", "2025-06-18"}}));
    CHECK(proxy.out.message()["method"] == "notifications/tools/list_changed");
    proxy.send(call(5));
    CHECK(retry.request()["id"] == 5);
    retry.send(result(5));
    CHECK(proxy.out.message()["id"] == 5);
  }
  SECTION("what changes nothing is asked again, and the client notices nothing") {
    proxy.send(modern_request(1, "tools/list"));
    const Json params = peer.request();
    peer.close();
    Peer retry = daemon.accept_proxy();
    CHECK(retry.request() == params);
    retry.send(result(1, {{"tools", Json::array()}}));
    CHECK(proxy.out.message() == result(1, {{"tools", Json::array()}}));
  }
  SECTION("a list as often as the daemon ends: it runs nothing") {
    proxy.send(modern_request(1, "tools/list"));
    CHECK(peer.request()["method"] == "tools/list");
    peer.close();
    for (int times = 0; times < 4; times++) {
      Peer retry = daemon.accept_proxy();
      CHECK(retry.request()["method"] == "tools/list");
      retry.close();
    }
    Peer last = daemon.accept_proxy();
    CHECK(last.request()["id"] == 1);
    last.send(result(1, {{"tools", Json::array()}}));
    CHECK(proxy.out.message() == result(1, {{"tools", Json::array()}}));
  }
  SECTION("but not a third time: a request that ends the daemon is given up") {
    proxy.send(modern_request(1, "resources/read", {{"uri", "workspace:///poison"}}));
    CHECK(peer.request()["id"] == 1);
    peer.close();
    Peer second = daemon.accept_proxy();
    CHECK(second.request()["id"] == 1);
    second.close();
    Peer third = daemon.accept_proxy();
    const Json abandoned = proxy.out.message()["error"];
    CHECK(abandoned["code"] == -32603);
    CHECK(abandoned["message"].get<std::string>().find("has no effects") != std::string::npos);
    CHECK(third.lines.quiet_for(50ms));
  }
  SECTION("an initialize that was not answered is asked again under its own id") {
    proxy.send(request(0, "initialize", kInitialize));
    CHECK(peer.request()["id"] == 0);
    peer.close();
    Peer retry = daemon.accept_proxy();
    CHECK(retry.request()["id"] == 0);
    retry.send(result(0));
    CHECK(proxy.out.message() == result(0));
  }
  SECTION("a cancelled call is not answered") {
    proxy.send(call(1));
    proxy.send(Json{{"jsonrpc", "2.0"}, {"method", "notifications/cancelled"}, {"params", {{"requestId", 1}}}});
    CHECK(peer.request()["id"] == 1);
    CHECK(peer.request()["method"] == "notifications/cancelled");
    peer.close();
    daemon.accept_proxy();
    CHECK(proxy.out.quiet_for(50ms));
  }
  SECTION("a call that was answered is not answered again, however the id is spelled") {
    proxy.send_line(R"({"jsonrpc":"2.0","id":"\u0061","method":"tools/call"})");
    peer.request();
    peer.send(result("a"));
    CHECK(proxy.out.message()["id"] == "a");
    peer.close();
    daemon.accept_proxy();
    CHECK(proxy.out.quiet_for(50ms));
  }
  SECTION("subscriptions stand again, acknowledged once, and hear that the tools may have changed") {
    proxy.send(modern_request("sub", "subscriptions/listen", {{"notifications", {{"toolsListChanged", true}}}}));
    const Json listen = peer.request();
    const Json acknowledged = {{"jsonrpc", "2.0"},
                               {"method", "notifications/subscriptions/acknowledged"},
                               {"params", {{"_meta", {{"io.modelcontextprotocol/subscriptionId", "sub"}}}}}};
    peer.send(acknowledged);
    CHECK(proxy.out.message() == acknowledged);
    peer.close();
    Peer retry = daemon.accept_proxy();
    CHECK(retry.request() == listen);
    retry.send(acknowledged);
    const Json changed = proxy.out.message();
    CHECK(changed["method"] == "notifications/tools/list_changed");
    CHECK(changed["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == "sub");
    retry.send(Json{{"jsonrpc", "2.0"}, {"method", "next"}});
    CHECK(proxy.out.message()["method"] == "next");  // no second acknowledgement between
  }
  SECTION("what the daemon had asked the client is withdrawn") {
    peer.send(request("ask-1", "elicitation/create"));
    CHECK(proxy.out.message()["id"] == "ask-1");
    peer.close();
    const Json withdrawn = proxy.out.message();
    CHECK(withdrawn["method"] == "notifications/cancelled");
    CHECK(withdrawn["params"]["requestId"] == "ask-1");
  }
  SECTION("half an answer is dropped, the call answered as interrupted") {
    proxy.send(call(1));
    peer.request();
    write_all(peer.lines.fd(), R"({"jsonrpc":"2.0","id":1,"result":{"content)");
    peer.close();
    CHECK(proxy.out.message()["result"]["isError"] == true);
  }
  SECTION("log level and subscriptions of a legacy client are set again") {
    shake_hands(proxy, peer);
    proxy.send(request(1, "logging/setLevel", {{"level", "debug"}}));
    proxy.send(request(2, "resources/subscribe", {{"uri", "workspace:///a"}}));
    proxy.send(request(3, "resources/subscribe", {{"uri", "workspace:///b"}}));
    proxy.send(request(4, "resources/unsubscribe", {{"uri", "workspace:///a"}}));
    for (int id = 1; id <= 4; id++) {
      CHECK(peer.request()["id"] == id);
      peer.send(result(id));
      CHECK(proxy.out.message()["id"] == id);
    }
    peer.close();
    Peer retry = daemon.accept_proxy();
    CHECK(retry.request()["method"] == "initialize");
    CHECK(retry.request()["method"] == "notifications/initialized");
    CHECK(retry.request()["params"]["level"] == "debug");
    CHECK(retry.request()["params"]["uri"] == "workspace:///b");
  }
}

namespace {

Json refusal() {
  return {{"code", -32603},
          {"message", "tenant 'uid-0' has 64 connections, which is the maximum"},
          {"data", {{"code", "exhausted"}, {"org.warder/not-run", "refused"}, {"remedy", "close some"}}}};
}

Json error(const Json& id, Json of) {
  Json message = {{"jsonrpc", "2.0"}};
  if (!id.is_null()) message["id"] = id;
  message["error"] = std::move(of);
  return message;
}

// What a daemon that ends answers to a call, or a subscription.
Json draining(const Json& id, Json more = Json::object()) {
  more["_meta"]["org.warder/not-run"] = "draining";
  return result(id, std::move(more));
}

}  // namespace

TEST_CASE("a connection that the daemon refuses is tried again, and then nothing is said to have run", "[proxy]") {
  FakeDaemon daemon;
  daemon.start();
  Proxy proxy(daemon);
  const bool with_id = GENERATE(true, false);
  CAPTURE(with_id);
  proxy.send(modern_request(1, "tools/list"));
  proxy.send(call(2));
  proxy.send(call(3));
  auto refuse = [&](Peer& peer) {
    CHECK(peer.request()["id"] == 1);
    peer.send(with_id ? error(1, refusal()) : error(nullptr, refusal()));
    peer.close();
  };
  Peer first = daemon.accept_proxy();
  refuse(first);

  SECTION("a place is free: all of it is sent again, in order") {
    Peer retry = daemon.accept_proxy();
    for (int id = 1; id <= 3; id++) {
      CHECK(retry.request()["id"] == id);
      retry.send(result(id));
      CHECK(proxy.out.message() == result(id));
    }
  }
  SECTION("no place is free") {
    const pid_t refusing = ::fork();  // as often as the proxy comes
    if (refusing == 0) {
      try {
        for (;;) {
          Peer retry = daemon.accept_proxy();
          retry.request();
          retry.send(error(nullptr, refusal()));
          retry.close();
        }
      } catch (...) {
      }
      ::_exit(0);
    }
    std::map<int, Json> answers;
    for (int i = 0; i < 3; i++) {
      const Json answer = proxy.out.message();
      answers[answer["id"]] = answer;
    }
    ::kill(refusing, SIGKILL);
    ::waitpid(refusing, nullptr, 0);
    CHECK(answers[1]["result"]["tools"].is_array());
    for (int id : {2, 3}) {
      const Json report = answer_text(answers[id]);
      CAPTURE(report.dump());
      CHECK(answers[id]["result"]["isError"] == true);
      CHECK(report["error"] ==
            "warderd refused the connection, the call did not run: tenant 'uid-0' has 64 connections, which is the "
            "maximum");
      CHECK(report["remedy"] == "close some");
      CHECK(report["may_have_run"] == false);
    }
    CHECK(proxy.err.line()->find("64 connections") != std::string::npos);
  }
}

TEST_CASE("calls that a daemon does not take, as it ends, go to the next one", "[proxy]") {
  FakeDaemon daemon;
  daemon.start();
  Proxy proxy(daemon);
  Peer peer = daemon.accept_proxy();
  proxy.send(modern_request("sub", "subscriptions/listen", {{"notifications", Json::object()}}));
  CHECK(peer.request()["id"] == "sub");
  proxy.send(call(1));
  CHECK(peer.request()["id"] == 1);
  proxy.send(call(2));
  CHECK(peer.request()["id"] == 2);

  peer.send(draining("sub"));
  peer.send(draining(2, {{"content", Json::array()}, {"isError", true}}));
  proxy.send(modern_request(3, "tools/list"));  // is still answered by the daemon that ends
  CHECK(peer.request()["id"] == 3);
  peer.send(result(3, {{"tools", Json::array()}}));
  CHECK(proxy.out.message()["id"] == 3);  // and of the others the client has heard nothing
  proxy.send(call(4));                    // not even sent
  proxy.send(call(5));
  proxy.send(Json{{"jsonrpc", "2.0"}, {"method", "notifications/cancelled"}, {"params", {{"requestId", 5}}}});
  CHECK(peer.request()["method"] == "notifications/cancelled");
  peer.send(result(1));
  CHECK(proxy.out.message()["id"] == 1);  // it ran, and was awaited
  peer.close();

  Peer retry = daemon.accept_proxy();
  CHECK(retry.request()["id"] == "sub");
  for (int id : {2, 4}) {
    CHECK(retry.request()["id"] == id);
    retry.send(result(id));
    CHECK(proxy.out.message() == result(id));
  }
  CHECK(retry.lines.quiet_for(50ms));
}

TEST_CASE("what a program prints is not taken for the daemon's word that it did not run", "[proxy]") {
  FakeDaemon daemon;
  daemon.start();
  Proxy proxy(daemon);
  Peer peer = daemon.accept_proxy();
  proxy.send(call(1));
  peer.request();
  const Json answer =
      result(1, {{"content", {{{"type", "text"}, {"text", R"("_meta":{"org.warder/not-run":"draining"})"}}}},
                 {"structuredContent", {{"_meta", {{"org.warder/not-run", "draining"}}}}}});
  peer.send(answer);
  CHECK(proxy.out.message() == answer);
}

TEST_CASE("requests that come while the daemon restarts wait for it", "[proxy]") {
  FakeDaemon daemon;
  daemon.start();
  Proxy proxy(daemon);
  Peer peer = daemon.accept_proxy();
  daemon.stop();
  peer.close();
  proxy.send(call(1));
  CHECK(proxy.out.quiet_for(100ms));
  daemon.start();
  Peer retry = daemon.accept_proxy();
  CHECK(retry.request()["id"] == 1);
  retry.send(result(1));
  CHECK(proxy.out.message() == result(1));

  SECTION("unless it stays away") {
    daemon.stop();
    retry.close();
    proxy.send(call(2));
    const Json refused = proxy.out.message();
    CHECK(refused["id"] == 2);
    CHECK(answer_text(refused)["error"].get<std::string>().find("the call did not run") != std::string::npos);
    CHECK(answer_text(refused)["may_have_run"] == false);
  }
}

TEST_CASE("without a daemon the proxy answers in its place", "[proxy]") {
  FakeDaemon daemon;
  Proxy proxy(daemon);

  SECTION("every version of the handshake") {
    const auto [requested, answered] = GENERATE(table<std::string, std::string>({{"2024-11-05", "2024-11-05"},
                                                                                 {"2025-03-26", "2025-03-26"},
                                                                                 {"2025-06-18", "2025-06-18"},
                                                                                 {"2025-11-25", "2025-11-25"},
                                                                                 {"1999-01-01", "2025-11-25"}}));
    proxy.send(request(0, "initialize", {{"protocolVersion", requested}}));
    const Json greeted = proxy.out.message();
    CHECK(greeted["result"]["protocolVersion"] == answered);
    CHECK(greeted["result"]["serverInfo"]["name"] == "warder");
    CHECK(greeted["result"]["capabilities"]["tools"]["listChanged"] == true);
    CHECK_FALSE(greeted["result"].contains("resultType"));
  }
  SECTION("discovery, ping and the tool list") {
    proxy.send(modern_request(1, "server/discover"));
    const Json match = proxy.out.message()["result"];
    CHECK(match["supportedVersions"] == Json::array({"2026-07-28"}));
    CHECK(match["resultType"] == "complete");
    CHECK(match["ttlMs"] == 0);
    CHECK(match["instructions"].get<std::string>().find(daemon.path()) != std::string::npos);
    proxy.send(request(2, "ping"));
    CHECK(proxy.out.message() == result(2));
    proxy.send(request(3, "tools/list"));
    const Json tools = proxy.out.message()["result"]["tools"];
    REQUIRE(tools.size() == 1);
    CHECK(tools[0]["name"] == "execute_code");
    CHECK(tools[0]["inputSchema"]["type"] == "object");
  }
  SECTION("a version nobody knows is refused as the specification says") {
    auto strange = modern_request(1, "tools/list");
    strange["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2099-01-01";
    proxy.send(strange);
    const Json refused = proxy.out.message()["error"];
    CHECK(refused["code"] == -32022);
    CHECK(refused["data"]["supported"] == Json::array({"2026-07-28"}));
    CHECK(refused["data"]["requested"] == "2099-01-01");
  }
  SECTION("a call is a tool error with the command to run") {
    proxy.send(call(1));
    const Json refused = proxy.out.message()["result"];
    CHECK(refused["isError"] == true);
    const Json text = Json::parse(refused["content"][0]["text"].get<std::string>());
    CHECK(text["remedy"].get<std::string>().find("--socket " + daemon.path()) != std::string::npos);
  }
  SECTION("anything else is an error, garbage too, and notifications are ignored") {
    proxy.send(request(1, "completion/complete"));
    CHECK(proxy.out.message()["error"]["data"]["code"] == "unavailable");
    proxy.send_line("[]]");
    proxy.send(kInitialized);
    const Json refused = proxy.out.message();
    CHECK(refused["error"]["code"] == -32600);
    CHECK_FALSE(refused.contains("id"));
    proxy.send_line(R"([{"jsonrpc":"2.0","id":2,"method":"ping"},{"jsonrpc":"2.0","id":3,"method":"ping"}])");
    CHECK(proxy.out.message()["id"] == 2);
    CHECK(proxy.out.message()["id"] == 3);
  }
  SECTION("the user reads on standard error what is wrong and what to do") {
    const auto message = proxy.err.line();
    CHECK(message->find("No such file or directory") != std::string::npos);
    CHECK(message->find("--socket " + daemon.path()) != std::string::npos);
  }
}

TEST_CASE("a daemon that appears later is found, and the client is told", "[proxy]") {
  FakeDaemon daemon;
  Proxy proxy(daemon);

  SECTION("legacy") {
    proxy.send(request(0, "initialize", kInitialize));
    proxy.out.message();
    proxy.send(kInitialized);
    proxy.send(request(1, "tools/list"));
    proxy.out.message();
    daemon.start();
    Peer peer = daemon.accept_proxy();
    const Json repeated = peer.request();
    CHECK(repeated["method"] == "initialize");
    CHECK(peer.request()["method"] == "notifications/initialized");
    peer.send(result(repeated["id"]));
    CHECK(proxy.out.message()["method"] == "notifications/tools/list_changed");
    proxy.send(call(2));
    CHECK(peer.request()["id"] == 2);
  }
  SECTION("modern, with a subscription that was taken in its absence") {
    proxy.send(modern_request(9, "subscriptions/listen", {{"notifications", {{"toolsListChanged", true}}}}));
    const Json acknowledged = proxy.out.message();
    CHECK(acknowledged["method"] == "notifications/subscriptions/acknowledged");
    CHECK(acknowledged["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == 9);
    CHECK(acknowledged["params"]["notifications"]["toolsListChanged"] == true);
    daemon.start();
    Peer peer = daemon.accept_proxy();
    CHECK(peer.request()["method"] == "subscriptions/listen");
    peer.send(acknowledged);
    CHECK(proxy.out.message()["method"] == "notifications/tools/list_changed");
  }
  SECTION("and after it went again, the tools it had are still listed") {
    daemon.start();
    Peer peer = daemon.accept_proxy();
    proxy.send(request(1, "tools/list"));
    CHECK(peer.request()["id"] == 1);
    const Json listed = {{"tools", {{{"name", "fake"}}}}};
    peer.send(result(1, listed));
    proxy.out.message();
    daemon.stop();
    peer.close();
    proxy.send(request(2, "tools/list"));
    CHECK(proxy.out.message() == result(2, listed));
  }
}
