// Who hears of changes: each era in its way, only what was asked for, only who is concerned.
#include "supervisor/protocol/mcp/subscriptions.h"

#include "tests/supervisor/protocol/mcp/harness.h"

using namespace mcp_test;

namespace {

struct Changing : Fixture {
  Changing() {
    mcp::ResourceProvider provider;
    provider.list = [](mcp::RequestContext&, std::string) -> Task<Result<mcp::ResourcePage>> {
      co_return mcp::ResourcePage{};
    };
    provider.read = [](mcp::RequestContext&, std::string) -> Task<Result<std::vector<mcp::ResourceContents>>> {
      co_return fail(Code::not_found, "nothing here");
    };
    provider.changes = mcp::ResourceProvider::Changes::reported;
    provider.prefixes = {"a://", "b://"};
    server.add_resources(std::move(provider));
  }
  std::unique_ptr<Client> user(const std::string& name, bool handshake) {
    mcp::Connection::Accepted accepted;
    accepted.user = std::make_shared<NamedUser>(name);
    auto client = connect(std::move(accepted));
    if (handshake) client->ask(request(0, "initialize", {{"protocolVersion", "2025-11-25"}}));
    return client;
  }
  static mcp::UserFilter only(const std::string& name) {
    return [name](const auto& user) { return name_of(user) == name; };
  }
};

Json listening(const Json& id, Json notifications) {
  return modern(id, "subscriptions/listen", {{"notifications", std::move(notifications)}});
}

const Json kTag = Json::parse(R"({"io.modelcontextprotocol/subscriptionId":"s"})");

}  // namespace

TEST_CASE("legacy clients hear of lists by themselves, of resources when they have subscribed", "[mcp]") {
  Changing f;
  auto client = f.user("ada", true);
  CHECK(client->ask(request(1, "resources/subscribe", {{"uri", "a://1"}}))["result"] == Json::object());
  f.server.lists_changed(mcp::Changed::resources);
  CHECK(client->message() ==
        Json::parse(R"({"jsonrpc":"2.0","method":"notifications/resources/list_changed","params":{}})"));
  f.server.resource_updated("a://2");
  f.server.resource_updated("a://1");
  CHECK(client->message()["params"] == Json::parse(R"({"uri":"a://1"})"));
  client->ask(request(2, "resources/unsubscribe", {{"uri", "a://1"}}));
  f.server.resource_updated("a://1");
  f.server.lists_changed(mcp::Changed::tools);  // this server never says so
  CHECK(client->silent());
  CHECK(client->ask(request(3, "resources/subscribe"))["error"]["code"] == -32602);
  CHECK(client->ask(request(4, "resources/subscribe", {{"uri", std::string(5000, 'x')}}))["error"]["code"] == -32602);
  for (int i = 0; i < 256; i++) client->ask(request(5, "resources/subscribe", {{"uri", "b://" + std::to_string(i)}}));
  CHECK(client->ask(request(6, "resources/subscribe", {{"uri", "b://255"}}))["result"] == Json::object());
  CHECK(client->ask(request(7, "resources/subscribe", {{"uri", "b://256"}}))["error"]["code"] == -32602);
}

TEST_CASE("a modern subscription is acknowledged first and tagged always, until it is cancelled", "[mcp]") {
  Changing f;
  auto client = f.user("ada", false);
  client->send(listening("s", {{"resourcesListChanged", true},
                               {"promptsListChanged", true},
                               {"toolsListChanged", false},
                               {"resourceSubscriptions", {"a://1"}}}));
  auto acknowledged = client->message();
  CHECK(acknowledged["method"] == "notifications/subscriptions/acknowledged");
  // Prompts of this server never change: it does not agree to tell of them.
  CHECK(acknowledged["params"]["notifications"] ==
        Json::parse(R"({"resourcesListChanged":true,"resourceSubscriptions":["a://1"]})"));
  CHECK(acknowledged["params"]["_meta"] == kTag);
  f.server.resource_updated("a://1");
  auto updated = client->message();
  CHECK(updated["params"]["uri"] == "a://1");
  CHECK(updated["params"]["_meta"] == kTag);
  client->send(listening("t", {{"resourcesListChanged", true}}));
  CHECK(client->message()["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == "t");
  client->send(cancel("s"));
  settle(f.loop);
  f.server.resource_updated("a://1");
  f.server.lists_changed(mcp::Changed::resources);
  CHECK(client->message()["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == "t");
  CHECK(client->silent());
}

TEST_CASE("a subscription that makes no sense is refused", "[mcp]") {
  Changing f;
  auto client = f.connect();
  for (const Json& wrong :
       {Json(1), Json::parse(R"({"resourcesListChanged":1})"), Json::parse(R"({"resourceSubscriptions":"a"})"),
        Json::parse(R"({"resourceSubscriptions":[1]})")}) {
    CAPTURE(wrong);
    CHECK(client->ask(listening(1, wrong))["error"]["code"] == -32602);
  }
  CHECK(client->ask(modern(2, "resources/subscribe", {{"uri", "a"}}))["error"]["code"] == -32601);
  CHECK(f.legacy()->ask(request(3, "subscriptions/listen"))["error"]["code"] == -32601);
}

TEST_CASE("a change reaches those it concerns, on all their connections", "[mcp]") {
  Changing f;
  auto ada = f.user("ada", true), again = f.user("ada", true), bob = f.user("bob", true);
  f.server.lists_changed(mcp::Changed::resources, Changing::only("ada"));
  CHECK(ada->message()["method"] == "notifications/resources/list_changed");
  CHECK(again->message()["method"] == "notifications/resources/list_changed");
  CHECK(bob->silent());
  again->close();
  settle(f.loop);
  f.server.lists_changed(mcp::Changed::resources);  // whoever has left is forgotten
  CHECK(bob->message()["method"] == "notifications/resources/list_changed");
}

TEST_CASE("many changes of a list in a second are told at once and once more", "[mcp]") {
  Changing f;
  auto client = f.user("ada", true);
  for (int i = 0; i < 5; i++) f.server.lists_changed(mcp::Changed::resources);
  CHECK(client->message()["method"] == "notifications/resources/list_changed");
  CHECK(client->silent());
  CHECK(client->message()["method"] == "notifications/resources/list_changed");
  CHECK(client->silent());
}

TEST_CASE("a resource that nobody here reads is left out of what is acknowledged", "[mcp]") {
  Changing f;
  auto client = f.user("ada", false);
  client->send(listening("s", {{"resourceSubscriptions", {"nope://x", "a://1", "relative"}}}));
  CHECK(client->message()["params"]["notifications"] == Json::parse(R"({"resourceSubscriptions":["a://1"]})"));
}

TEST_CASE("a server that drains ends subscriptions with an answer and does not wait for them", "[mcp]") {
  Changing f;
  auto client = f.user("ada", false);
  client->send(listening("s", {{"resourcesListChanged", true}}));
  client->message();
  f.server.drain();
  auto ended = client->message();
  CHECK(ended["id"] == "s");
  CHECK(ended["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == "s");
  CHECK(ended["result"]["_meta"]["org.warder/not-run"] == "draining");  // `warder mcp` asks again
  CHECK(f.server.calls() == 0);
}

TEST_CASE("what never changes offers no subscriptions", "[mcp]") {
  Fixture f;
  auto client = f.connect();
  CHECK(client->ask(listening(1, Json::object()))["error"]["code"] == -32601);
  Changing g;
  CHECK(g.connect()->ask(modern(1, "server/discover"))["result"]["capabilities"]["resources"] ==
        Json::parse(R"({"subscribe":true,"listChanged":true})"));
}
