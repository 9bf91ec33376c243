#include "supervisor/programs/cli/servers/client_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "supervisor/base/json/json.h"
#include "tests/catch.h"

using admin::ClientServer;

namespace {

admin::ImportSurroundings surroundings() {
  admin::ImportSurroundings import_surroundings;
  import_surroundings.variable = [](const std::string& name, bool& is_set) {
    is_set = name == "KEY";
    return std::string(is_set ? "value" : "");
  };
  import_surroundings.real_path = [](const std::string& path) -> std::string {
    if (path == "python3" || path == "node") return "/usr/bin/" + path;
    if (path.starts_with("/opt/") || path.starts_with("/usr/")) return path;
    return {};
  };
  return import_surroundings;
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
  CHECK(all[2].entry["args"] == Json::array({"-m", "b"}));
}

TEST_CASE("comments and commas of VS Code are allowed, but not inside texts") {
  const auto all =
      servers_in("{ // one\n \"servers\": {\"a\": {\"command\": \"node\", \"args\": [\"//x, ]\", /* two */ ], },},}");
  REQUIRE(all.size() == 1);
  CHECK(all[0].entry["args"] == Json::array({"//x, ]"}));
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
  const auto says = [&](const char* entry, const char* text) {
    const std::string why = obstacle(entry);
    INFO(why);
    CHECK(why.find(text) != why.npos);
  };
  says(R"({"command": "npx", "args": ["-y", "@a/b@1", "x"]})", "warder servers install npm:@a/b@1 --name s -- x");
  says(R"({"command": "/opt/node/bin/npx", "args": ["-p", "b"]})", "install npm:b --name s");
  says(R"({"command": "uvx", "args": ["b"]})", "uvx fetches");
  says(R"({"command": "docker", "args": ["run"]})", "docker needs");
  says(R"({"command": "/opt/srv/run"})", "warder servers install /opt/srv");
  says(R"({"command": "no-such-program"})", "does not exist here");
  says(R"({"command": "node", "args": ["/opt/data"]})", "--folder /opt/data");
  says(R"({"command": "node", "env": {"K": "${input:key}"}})", "VS Code asks");
  says(R"({"command": "node", "env": {"K": "${OTHER}"}})", "${OTHER} is not set");
  says(R"({"type": "sse", "url": "https://host/"})", "it speaks sse");
  says(R"({"args": []})", "neither a command nor a URL");
  says(R"({"command": "node", "args": [3]})", "not a text");
}

TEST_CASE("variables of the user are replaced, and disabled servers left out") {
  const auto all = servers_in(R"({"mcpServers": {
      "s": {"command": "node", "args": ["${env:KEY}", "${NO:-else}"], "env": {"A": "x${KEY}y", "N": 3}},
      "off": {"command": "node", "disabled": true}, "bad": 3}})");
  REQUIRE(all.size() == 1);
  CHECK(all[0].obstacles.empty());
  CHECK(all[0].entry["args"] == Json::array({"value", "else"}));
  CHECK(all[0].entry["env"] == Json({{"A", "xvaluey"}, {"N", "3"}}));
}

TEST_CASE("a command line that a person may copy does nothing else") {
  const auto all = servers_in(R"json({"mcpServers": {"s": {"command": "npx",
      "args": ["-y", "a; reboot", "$(reboot)", "it's"], "env": {"`reboot`": "1"}}}})json");
  REQUIRE(all.size() == 1);
  REQUIRE(all[0].obstacles.size() == 1);
  INFO(all[0].obstacles[0]);
  CHECK(all[0].obstacles[0].ends_with(
      R"(warder servers install 'npm:a; reboot' --name s --env '`reboot`=...' -- '$(reboot)' 'it'\''s')"));
}

TEST_CASE("variables are not those of another user") {
  ::setenv("WARDER_TEST_SECRET", "geheim", 1);
  constexpr char kText[] = R"({"mcpServers": {"s": {"command": "/usr/bin/env", "args": ["${WARDER_TEST_SECRET}"]}}})";
  const auto own = admin::read_client_servers(kText, admin::ImportSurroundings::here(::geteuid()));
  REQUIRE(own);
  CHECK(own->front().entry["args"] == Json::array({"geheim"}));
  const auto foreign = admin::read_client_servers(kText, admin::ImportSurroundings::here(::geteuid() + 1));
  REQUIRE(foreign);
  CHECK(foreign->front().entry["args"] == Json::array({""}));
  REQUIRE(foreign->front().obstacles.size() == 1);
  CHECK(foreign->front().obstacles[0].find("import it as that user") != std::string::npos);
}

TEST_CASE("only a regular file of a bounded size is read") {
  namespace fs = std::filesystem;
  std::string folder = "/tmp/warder-test-client-XXXXXX";
  REQUIRE(::mkdtemp(folder.data()));
  const std::string file = folder + "/file", link = folder + "/link", pipe = folder + "/pipe";
  std::ofstream(file) << "{}";
  fs::create_symlink(file, link);
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(admin::read_client_text(file)->owner == ::geteuid());
  CHECK(admin::read_client_text(pipe).error().code == Code::invalid);
  CHECK(admin::read_client_text(folder).error().code == Code::invalid);
  CHECK(admin::read_client_text(folder + "/none").error().code == Code::not_found);
  if (::geteuid() == 0) {
    // A link in the path of another user's file could lead to root's own.
    fs::create_directory_symlink(folder, folder + "/parent");
    for (const std::string& path : {link, folder + "/parent/file"}) {
      const auto refused = admin::read_client_text(path);
      REQUIRE_FALSE(refused);
      CHECK(refused.error().code == Code::denied);
      CHECK(refused.error().hint.find(file) != std::string::npos);
    }
  } else {
    CHECK(admin::read_client_text(link)->text == "{}");  // as people keep their configuration elsewhere
    WARN("NOT TESTED: links in a path that root names need root");
  }
  REQUIRE(::truncate(file.c_str(), 100 << 20) == 0);
  CHECK(admin::read_client_text(file).error().code == Code::exhausted);
  fs::remove_all(folder);
}

TEST_CASE("a file with too many servers is refused, and none is left out without a word") {
  Json servers = Json::object();
  for (int i = 0; i < 1000; i++) servers["s" + std::to_string(i)] = {{"command", "sh"}};
  const auto all = admin::read_client_servers(dump_json({{"mcpServers", servers}}), surroundings());
  REQUIRE(all);
  CHECK(all->size() == 1000);
  servers["one-more"] = {{"command", "sh"}};
  const auto refused = admin::read_client_servers(dump_json({{"mcpServers", servers}}), surroundings());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::exhausted);
}

TEST_CASE("other files are refused") {
  CHECK_FALSE(admin::read_client_servers("[]", surroundings()));
  CHECK_FALSE(admin::read_client_servers("{}", surroundings()));
  CHECK_FALSE(admin::read_client_servers("text", surroundings()));
  CHECK(servers_in(R"({"mcpServers": 3})").empty());
}
