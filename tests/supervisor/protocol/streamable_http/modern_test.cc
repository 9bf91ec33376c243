// Requests of 2026-07-28, each complete in itself.
#include "supervisor/base/base64.h"
#include "tests/supervisor/protocol/streamable_http/harness.h"

using namespace http_test;
using mcp_test::modern;

namespace {

Json tool_call(const Json& id, const std::string& tool, Json arguments = Json::object(), Json meta = Json::object()) {
  return modern(id, "tools/call", {{"name", tool}, {"arguments", std::move(arguments)}, {"_meta", std::move(meta)}});
}

const Json kElicits = {{"io.modelcontextprotocol/clientCapabilities", {{"elicitation", Json::object()}}}};

}  // namespace

TEST_CASE("a call is answered with one JSON object, and the connection stays open") {
  HttpFixture fixture;
  auto client = fixture.connect_http();
  for (int i = 1; i <= 3; i++) {
    client->write(modern_post(tool_call(i, "echo", {{"text", "hello"}})));
    const Answer answer = client->answer();
    CHECK(answer.status == 200);
    CHECK(answer.header("Content-Type") == "application/json");
    CHECK(answer.json()["id"] == i);
    CHECK(answer.json()["result"]["content"][0]["text"] == "hello");
    CHECK(answer.header("Mcp-Session-Id").empty());
  }
  CHECK(fixture.endpoint->connections() == 1);
}

TEST_CASE("a call that reports progress is answered with a stream of events") {
  HttpFixture fixture;
  auto client = fixture.connect_http();
  client->write(modern_post(tool_call(1, "steps", Json::object(), {{"progressToken", "t"}})));
  const Answer answer = client->answer();
  CHECK(answer.header("Content-Type") == "text/event-stream");
  CHECK(answer.header("X-Accel-Buffering") == "no");
  const auto events = answer.events();
  REQUIRE(events.size() == 3);
  CHECK(events[0]["method"] == "notifications/progress");
  CHECK(events[1]["params"]["progress"] == 2.5);
  CHECK(events[2]["result"]["content"][0]["text"] == "done");
  CHECK(answer.event_ids().empty());
}

TEST_CASE("a client that takes JSON only gets the answer without the progress") {
  HttpFixture fixture;
  auto client = fixture.connect_http();
  std::string request = modern_post(tool_call(1, "steps", Json::object(), {{"progressToken", "t"}}));
  request.replace(request.find(", text/event-stream"), 19, "");
  client->write(request);
  CHECK(client->answer().json()["result"]["content"][0]["text"] == "done");
}

TEST_CASE("a client that hangs up cancels its request") {
  HttpFixture fixture;
  auto client = fixture.connect_http(), other = fixture.connect_http();
  client->write(modern_post(tool_call(1, "hold", {{"name", "a"}})));
  other->write(modern_post(tool_call(1, "hold", {{"name", "b"}})));
  wait_until(fixture.loop, [&] { return fixture.reserved == 2; });
  client->close();
  wait_until(fixture.loop, [&] { return fixture.reserved == 1; });
  CHECK(fixture.cancelled == 1);
  fixture.release("b");
  CHECK(other->answer().json()["result"]["content"][0]["text"] == "released b");
  wait_until(fixture.loop, [&] { return fixture.endpoint->connections() == 1; });
}

TEST_CASE("a silent call becomes a stream with comments") {
  HttpFixture fixture;
  fixture.http_limits.connection.comments = std::chrono::milliseconds(20);
  auto client = fixture.connect_http();
  client->write(modern_post(tool_call(1, "hold", {{"name", "a"}})));
  client->partly([](const Answer& answer) { return answer.body.find(":\n\n:\n\n") != answer.body.npos; });
  fixture.release("a");
  const Answer answer = client->answer();
  REQUIRE(answer.events().size() == 1);
  CHECK(answer.events()[0]["result"]["content"][0]["text"] == "released a");
}

TEST_CASE("headers that do not agree with the body are refused") {
  HttpFixture fixture;
  auto client = fixture.connect_http();
  const Json message = tool_call(7, "echo", {{"text", "a"}});
  const std::string version = "MCP-Protocol-Version: 2026-07-28\r\n", method = "Mcp-Method: tools/call\r\n",
                    name = "Mcp-Name: echo\r\n";
  const auto status_with = [&](const std::string& headers) {
    client->write(post(message.dump(), headers));
    const Answer answer = client->answer();
    if (answer.status == 400) {
      CHECK(answer.json()["error"]["code"] == -32020);
      CHECK(answer.json()["id"] == 7);
    }
    return answer.status;
  };
  CHECK(status_with(version + method + name) == 200);
  CHECK(status_with(version + method + "Mcp-Name: =?base64?" + to_base64("echo") + "?=\r\n") == 200);
  CHECK(status_with(method + name) == 400);
  CHECK(status_with("MCP-Protocol-Version: 2025-11-25\r\n" + method + name) == 400);
  CHECK(status_with(version + name) == 400);
  CHECK(status_with(version + "Mcp-Method: tools/list\r\n" + name) == 400);
  CHECK(status_with(version + "Mcp-Method: TOOLS/CALL\r\n" + name) == 400);
  CHECK(status_with(version + method + method + name) == 400);
  CHECK(status_with(version + method) == 400);
  CHECK(status_with(version + method + "Mcp-Name: hold\r\n") == 400);
  CHECK(status_with(version + method + name + "Mcp-Name: hold\r\n") == 400);
  CHECK(status_with(version + method + "Mcp-Name: =?base64?" + to_base64("hold") + "?=\r\n") == 400);
  CHECK(status_with(version + method + "Mcp-Name: =?base64?ZWNobw?=\r\n") == 400);
  CHECK(status_with(version + method + "Mcp-Name: =?base64?\?=\r\n") == 400);
  CHECK(status_with(version + method + "Mcp-Name: =?BASE64?" + to_base64("echo") + "?=\r\n") == 400);
}

TEST_CASE("arguments that a schema mirrors in headers must agree with them") {
  HttpFixture fixture;
  mcp::ToolDefinition mirrored;
  mirrored.name = "mirrored";
  mirrored.input_schema =
      Json::parse(R"({"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},
    "level":{"type":"integer","x-mcp-header":"Level"},"in":{"type":"object","properties":{"deep":{"type":"boolean","x-mcp-header":"Deep"}}}}})");
  fixture.server.add_tool(std::move(mirrored), [](mcp::RequestContext&, Json) -> Task<mcp::ToolResult> {
    co_return mcp::ToolResult::text("fine");
  });
  auto client = fixture.connect_http();
  const auto status = [&](Json arguments, const std::string& headers) {
    client->write(modern_post(tool_call(1, "mirrored", std::move(arguments)), headers));
    return client->answer().status;
  };
  CHECK(status({{"region", "eu"}, {"level", 3}}, "Mcp-Param-Region: eu\r\nMcp-Param-Level: 3\r\n") == 200);
  CHECK(status({{"region", "eu"}, {"level", 3}}, "mcp-param-region: eu\r\nMcp-Param-Level: 3.0\r\n") == 200);
  CHECK(status({{"region", "eu"}, {"level", 3}}, "Mcp-Param-Region: us\r\nMcp-Param-Level: 3\r\n") == 400);
  CHECK(status({{"region", "eu"}, {"level", 3}}, "Mcp-Param-Region: eu\r\nMcp-Param-Level: 4\r\n") == 400);
  CHECK(status({{"region", "eu"}}, "") == 400);
  CHECK(status(Json::object(), "") == 200);
  CHECK(status(Json::object(), "Mcp-Param-Region: eu\r\n") == 400);
  CHECK(status({{"in", {{"deep", true}}}}, "Mcp-Param-Deep: true\r\n") == 200);
  CHECK(status({{"in", {{"deep", true}}}}, "Mcp-Param-Deep: false\r\n") == 400);
}

TEST_CASE("errors have the status that the specification names") {
  HttpFixture fixture;
  auto client = fixture.connect_http();
  const auto ask = [&](const std::string& request) {
    client->write(request);
    return client->answer();
  };
  CHECK(ask(modern_post(modern(1, "no/such"))).status == 404);
  CHECK(ask(modern_post(modern(1, "initialize"))).status == 404);
  CHECK(ask(modern_post(tool_call(1, "no_such_tool"))).status == 200);
  const Answer needy = ask(modern_post(tool_call(1, "needs_sampling")));
  CHECK(needy.status == 400);
  CHECK(needy.json()["error"]["code"] == -32021);
  CHECK(ask(post("{", "MCP-Protocol-Version: 2026-07-28\r\n")).status == 400);
  Json unknown = modern(5, "tools/list");
  unknown["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = "v999";
  const Answer version = ask(post(unknown.dump(), "MCP-Protocol-Version: v999\r\nMcp-Method: tools/list\r\n"));
  CHECK(version.status == 400);
  CHECK(version.json()["error"]["code"] == -32022);
  CHECK(version.json()["error"]["data"]["requested"] == "v999");
  CHECK(version.json()["id"] == 5);
  Json bare = mcp_test::request(6, "tools/list");
  const Answer without = ask(post(bare.dump(), "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/list\r\n"));
  CHECK(without.status == 400);
  CHECK(without.json()["error"]["code"] == -32602);
  CHECK(without.json()["id"] == 6);
  Json note = {{"jsonrpc", "2.0"}, {"method", "notifications/cancelled"}, {"params", {{"requestId", 1}}}};
  CHECK(ask(post(note.dump(), "MCP-Protocol-Version: 2026-07-28\r\n")).status == 202);
}

TEST_CASE("subscriptions/listen is a stream that begins with its acknowledgement") {
  HttpFixture fixture;
  fixture.server.set_tool_choice({});
  auto client = fixture.connect_http();
  client->write(modern_post(modern(9, "subscriptions/listen", {{"notifications", {{"toolsListChanged", true}}}})));
  client->partly([](const Answer& answer) { return answer.events().size() == 1; });
  fixture.server.lists_changed(mcp::Changed::tools);
  const Answer more = client->partly([](const Answer& answer) { return answer.events().size() == 2; });
  CHECK(more.events()[0]["method"] == "notifications/subscriptions/acknowledged");
  CHECK(more.events()[1]["method"] == "notifications/tools/list_changed");
  CHECK(more.events()[1]["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == 9);
  CHECK(fixture.server.calls() == 1);
  fixture.server.drain();
  const Answer last = client->answer();
  REQUIRE(last.events().size() == 3);
  CHECK(last.events()[2]["id"] == 9);
}

TEST_CASE("a large request is read beside the loop, and a large answer is written whole") {
  HttpFixture fixture;
  Work work(fixture.loop);
  fixture.server.set_work(work);
  auto client = fixture.connect_http();
  const std::string text(1 << 20, 'y');
  client->write(modern_post(tool_call(1, "echo", {{"text", text}})));
  const Answer answer = client->answer();
  CHECK(answer.json()["result"]["content"][0]["text"] == text);
  client->close();
  wait_until(fixture.loop, [&] { return fixture.endpoint->connections() == 0; });
  fixture.endpoint.reset();
}

TEST_CASE("the version and the state of one request do not change the next one's") {
  HttpFixture fixture;
  auto client = fixture.connect_http();
  const std::string session = fixture.begin_session(*client);
  client->write(modern_post(tool_call(1, "echo", {{"text", "a"}}), "Mcp-Session-Id: " + session + "\r\n"));
  CHECK(client->answer().json()["result"].contains("resultType"));
  client->write(session_post(session, mcp_test::call(2, "echo", {{"text", "a"}})));
  CHECK_FALSE(client->answer().json()["result"].contains("resultType"));
}

TEST_CASE("a question is answered by a repetition on another connection, and by no other principal") {
  HttpFixture fixture;
  mcp::ToolDefinition asking;
  asking.name = "ask";
  fixture.server.add_tool(std::move(asking), [](mcp::RequestContext& context, Json) -> Task<mcp::ToolResult> {
    auto done = std::make_shared<Event>();
    auto message = std::make_shared<std::string>();
    const auto question = context.elicit({"May I?"}, [done, message](mcp::Elicited answer) {
      *message = answer.action == mcp::Elicited::Action::accept ? "yes" : "no";
      done->fire();
    });
    if (question) co_await *done;
    co_return mcp::ToolResult::text(*message);
  });
  auto client = fixture.connect_tcp();
  const std::string name = "Authorization: Bearer 1\r\n", two = "Authorization: Bearer 2\r\n";
  client->write(modern_post(tool_call(1, "ask", Json::object(), kElicits), name));
  const Json request = client->answer().json()["result"];
  CHECK(request["resultType"] == "input_required");
  Json repetition = tool_call(2, "ask", Json::object(), kElicits);
  repetition["params"]["requestState"] = request["requestState"];
  for (const auto& [key, question] : request["inputRequests"].items())
    repetition["params"]["inputResponses"][key] = {{"action", "accept"}, {"content", Json::object()}};
  client->close();

  auto other = fixture.connect_tcp();
  other->write(modern_post(repetition, two));
  const Json refused = other->answer().json();
  CHECK(refused["error"]["code"] == -32602);
  Json unknown = repetition;
  unknown["params"]["requestState"] = std::string(32, 'a');
  other->write(modern_post(unknown, two));
  const Json not_known = other->answer().json();
  CHECK(refused["error"] == not_known["error"]);  // both look the same
  other->write(modern_post(repetition, name));
  CHECK(other->answer().json()["result"]["content"][0]["text"] == "yes");
}
