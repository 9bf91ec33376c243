// Tools that a user is not offered are neither listed nor called; optional arguments that are null are absent.
#include "supervisor/protocol/mcp/arguments.h"
#include "tests/supervisor/protocol/mcp/harness.h"

using namespace mcp_test;

namespace {

Json call_of(int id, const std::string& tool, Json arguments = Json::object()) {
  return modern(id, "tools/call", {{"name", tool}, {"arguments", std::move(arguments)}});
}

std::vector<std::string> listed(Client& client, int id) {
  std::vector<std::string> names;
  const Json answer = client.ask(modern(id, "tools/list"));
  for (const auto& tool : answer["result"]["tools"]) names.push_back(tool["name"]);
  return names;
}

}  // namespace

TEST_CASE("each user is offered its own tools", "[mcp]") {
  Fixture f;
  f.server.set_tool_choice(
      [](const std::shared_ptr<mcp::ConnectionUser>& user) -> std::function<bool(std::string_view)> {
        if (!user) return nullptr;
        return [](std::string_view name) { return name == "echo"; };
      });
  mcp::Connection::Accepted lean;
  lean.user = std::make_shared<NamedUser>("lean");
  auto all_users = f.connect(), few = f.connect(std::move(lean));
  CHECK(listed(*all_users, 1).size() > 5);
  CHECK(listed(*few, 1) == std::vector<std::string>{"echo"});
  CHECK(listed(*all_users, 2).size() > 5);  // not the other's list
  CHECK(few->ask(call_of(3, "echo", {{"text", "x"}}))["result"]["content"][0]["text"] == "x");
  CHECK(few->ask(modern(6, "tools/list"))["result"]["cacheScope"] == "private");  // nobody else is to be shown it
  auto refused = few->ask(call_of(4, "data"));
  CHECK(refused["error"]["code"] == -32602);
  CHECK(refused["error"]["message"] == "Unknown tool: data");
  CHECK(all_users->ask(call_of(5, "data")).contains("result"));
}

TEST_CASE("an optional argument that is null is absent", "[mcp]") {
  const auto schema = Json::parse(R"({
    "properties": {"query": {"type": "string"}, "category": {"type": "string"}, "any": {},
                   "nullable": {"type": ["string", "null"]}},
    "required": ["query"]})");
  auto dropped = [&](Json arguments) {
    mcp::drop_absent(schema, arguments);
    return arguments.dump();
  };
  CHECK(dropped({{"query", "x"}, {"category", nullptr}}) == R"({"query":"x"})");
  CHECK(dropped({{"query", nullptr}}) == R"({"query":null})");  // wrong, and told so
  CHECK(dropped({{"nullable", nullptr}}) == R"({"nullable":null})");
  CHECK(dropped({{"any", nullptr}}) == R"({"any":null})");
  CHECK(dropped({{"unknown", nullptr}}) == R"({"unknown":null})");
  Json arguments = {{"query", nullptr}, {"category", nullptr}};
  mcp::drop_absent(schema, arguments);
  CHECK(mcp::find_problems(schema, arguments) == "argument 'query': null is not of type string");
}
