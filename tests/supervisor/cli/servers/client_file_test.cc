#include "supervisor/cli/servers/client_file.h"

#include "tests/catch.h"

using admin::ClientServer;

namespace {

admin::ImportSurroundings surroundings() {
  admin::ImportSurroundings given;
  given.variable = [](const std::string& name, bool& is_set) {
    is_set = name == "KEY";
    return std::string(is_set ? "value" : "");
  };
  given.real_path = [](const std::string& path) -> std::string {
    if (path == "python3" || path == "node") return "/usr/bin/" + path;
    if (path.starts_with("/opt/") || path.starts_with("/usr/")) return path;
    return {};
  };
  return given;
}

std::vector<ClientServer> servers_in(const char* text) {
  auto read = admin::read_client_servers(text, surroundings());
  REQUIRE(read);
  return *std::move(read);
}

}  // namespace

TEST_CASE("servers of every client and of projects are found") {
  const auto all = servers_in(R"({"mcpServers": {"a": {"command": "node"}}, "projects": {
      "/home/x": {"mcpServers": {"b c": {"command": "python3", "args": ["-m", "b"]}}}, "/home/y": {}},
      "mcp": {"servers": {"d": {"type": "http", "url": "https://host/mcp"}}}})");
  REQUIRE(all.size() == 3);
  CHECK(all[0].name == "a");
  CHECK(all[0].obstacles.empty());
  CHECK(all[1].name == "d");
  CHECK(all[1].entry["url"] == "https://host/mcp");
  CHECK(all[2].name == "b-c");
  CHECK(all[2].from == "/home/x");
  CHECK(all[2].entry["args"] == Json({"-m", "b"}));
}

TEST_CASE("comments and commas of VS Code are allowed, but not inside texts") {
  const auto all =
      servers_in("{ // one\n \"servers\": {\"a\": {\"command\": \"node\", \"args\": [\"//x, ]\", /* two */ ], },},}");
  REQUIRE(all.size() == 1);
  CHECK(all[0].entry["args"] == Json({"//x, ]"}));
  CHECK(admin::without_comments("{\"a\": 1} // no end") == "{\"a\": 1} ");
  CHECK_FALSE(admin::read_client_servers("{\"servers\": /*", surroundings()));
  CHECK_FALSE(admin::read_client_servers("{\"a\": \"\\", surroundings()));
}

TEST_CASE("what cannot work in a jail is an obstacle with a remedy") {
  const auto obstacle = [](const char* entry) {
    const auto all = servers_in((std::string("{\"mcpServers\": {\"s\": ") + entry + "}}").c_str());
    REQUIRE(all.size() == 1);
    REQUIRE(all[0].obstacles.size() == 1);
    return all[0].obstacles[0];
  };
  using Catch::Matchers::Contains;
  CHECK_THAT(obstacle(R"({"command": "npx", "args": ["-y", "@a/b@1", "x"]})"),
             Contains("warder servers install npm:@a/b@1 --name s -- x"));
  CHECK_THAT(obstacle(R"({"command": "/opt/node/bin/npx", "args": ["-p", "b"]})"), Contains("install npm:b --name s"));
  CHECK_THAT(obstacle(R"({"command": "uvx", "args": ["b"]})"), Contains("uvx fetches"));
  CHECK_THAT(obstacle(R"({"command": "docker", "args": ["run"]})"), Contains("docker needs"));
  CHECK_THAT(obstacle(R"({"command": "/opt/srv/run"})"), Contains("warder servers install /opt/srv"));
  CHECK_THAT(obstacle(R"({"command": "no-such-program"})"), Contains("does not exist here"));
  CHECK_THAT(obstacle(R"({"command": "node", "args": ["/opt/data"]})"), Contains("--folder /opt/data"));
  CHECK_THAT(obstacle(R"({"command": "node", "env": {"K": "${input:key}"}})"), Contains("VS Code asks"));
  CHECK_THAT(obstacle(R"({"command": "node", "env": {"K": "${OTHER}"}})"), Contains("${OTHER} is not set"));
  CHECK_THAT(obstacle(R"({"type": "sse", "url": "https://host/"})"), Contains("it speaks sse"));
  CHECK_THAT(obstacle(R"({"args": []})"), Contains("neither a command nor a URL"));
  CHECK_THAT(obstacle(R"({"command": "node", "args": [3]})"), Contains("not a text"));
}

TEST_CASE("variables of the user are replaced, and disabled servers left out") {
  const auto all = servers_in(R"({"mcpServers": {
      "s": {"command": "node", "args": ["${env:KEY}", "${NO:-else}"], "env": {"A": "x${KEY}y", "N": 3}},
      "off": {"command": "node", "disabled": true}, "bad": 3}})");
  REQUIRE(all.size() == 1);
  CHECK(all[0].obstacles.empty());
  CHECK(all[0].entry["args"] == Json({"value", "else"}));
  CHECK(all[0].entry["env"] == Json({{"A", "xvaluey"}, {"N", "3"}}));
}

TEST_CASE("other files are refused") {
  CHECK_FALSE(admin::read_client_servers("[]", surroundings()));
  CHECK_FALSE(admin::read_client_servers("{}", surroundings()));
  CHECK_FALSE(admin::read_client_servers("text", surroundings()));
  CHECK(servers_in(R"({"mcpServers": 3})").empty());
}
