#include "supervisor/programs/cli/config.h"

#include "supervisor/base/json/json_value.h"
#include "tests/catch.h"
#include "tests/supervisor/programs/cli/processes.h"

using namespace cli;

namespace {

const SocketPath kDefault{kSystemSocket, SocketSource::system};
const SocketPath kAsked{"/tmp/with \"quotes\" and \\/w.sock", SocketSource::requested};

std::string text_for(std::string_view client, const SocketPath& socket) {
  const auto entry = client_config(client, "/opt/warder/bin/warder", socket);
  REQUIRE(entry);
  return entry->text;
}

// What Python's own parsers make of a TOML or YAML text, as JSON.
Json parsed_by_python(const std::string& program, const std::string& text) {
  cli_test::Process python({"/usr/bin/python3", "-c", program});
  cli_test::write_all(python.in.get(), text);
  python.in.reset();
  const std::string out = python.out.rest();
  INFO(python.err.rest());
  return Json::parse(out);
}

}  // namespace

TEST_CASE("every client gets its own form of the same command", "[config]") {
  const Json plain = {{"command", "/opt/warder/bin/warder"}, {"args", {"mcp"}}};
  Json typed = plain;
  typed["type"] = "stdio";
  Json gemini = plain;
  gemini["timeout"] = 600000;
  CHECK(Json::parse(text_for("claude-code", kDefault)) == Json{{"mcpServers", {{"warder", typed}}}});
  CHECK(Json::parse(text_for("claude-desktop", kDefault)) == Json{{"mcpServers", {{"warder", plain}}}});
  CHECK(Json::parse(text_for("vscode", kDefault)) == Json{{"servers", {{"warder", typed}}}});
  CHECK(Json::parse(text_for("cursor", kDefault)) == Json{{"mcpServers", {{"warder", typed}}}});
  CHECK(Json::parse(text_for("gemini", kDefault)) == Json{{"mcpServers", {{"warder", gemini}}}});
  CHECK(Json::parse(text_for("inspector", kDefault)) == Json{{"mcpServers", {{"warder", typed}}}});
  CHECK(Json::parse(text_for("generic", kDefault)) == plain);
  Json patient = plain;
  patient["timeout"] = 600;
  const Json local = {{"type", "local"}, {"command", {"/opt/warder/bin/warder", "mcp"}}, {"enabled", true}};
  CHECK(Json::parse(text_for("zed", kDefault)) == Json{{"context_servers", {{"warder", patient}}}});
  CHECK(Json::parse(text_for("windsurf", kDefault)) == Json{{"mcpServers", {{"warder", plain}}}});
  CHECK(Json::parse(text_for("opencode", kDefault)) == Json{{"mcp", {{"warder", local}}}});
  CHECK(Json::parse(text_for("cline", kDefault)) == Json{{"mcpServers", {{"warder", patient}}}});
  CHECK(Json::parse(text_for("amp", kDefault)) == Json{{"amp.mcpServers", {{"warder", plain}}}});
}

TEST_CASE("Codex gets TOML that a TOML parser reads, whatever the path holds", "[config]") {
  const Json parsed = parsed_by_python("import json, sys, tomllib; print(json.dumps(tomllib.load(sys.stdin.buffer)))",
                                       text_for("codex", kAsked));
  CHECK(parsed["mcp_servers"]["warder"]["command"] == "/opt/warder/bin/warder");
  CHECK(parsed["mcp_servers"]["warder"]["args"] == Json::array({"mcp", "--socket", kAsked.path}));
}

TEST_CASE("goose gets YAML", "[config]") {
  CHECK(text_for("goose", kDefault) ==
        "extensions:\n  warder:\n    enabled: true\n    type: stdio\n    name: warder\n"
        "    cmd: \"/opt/warder/bin/warder\"\n    args: [\"mcp\"]\n    envs: {}\n    timeout: 600\n");
}

TEST_CASE("a socket that was asked for is named, a default one is not", "[config]") {
  for (const auto& client : known_clients()) {
    CAPTURE(client.name);
    CHECK(text_for(client.name, kDefault).find("--socket") == std::string::npos);
    CHECK(text_for(client.name, {"/run/user/0/warder/mcp.sock", SocketSource::user}).find("--socket") ==
          std::string::npos);
    CHECK(text_for(client.name, kAsked).find("--socket") != std::string::npos);
  }
}

TEST_CASE("clients that speak HTTP get a URL, and a place for the token", "[config]") {
  const std::string url = "http://127.0.0.1:9470/mcp";
  const auto entry_for = [&](std::string_view client) {
    return Json::parse(http_client_config(client, url).value().text);
  };
  const Json claude = entry_for("claude-code")["mcpServers"]["warder"];
  CHECK(claude == Json{{"type", "http"}, {"url", url}, {"headers", {{"Authorization", "Bearer ${WARDER_TOKEN}"}}}});
  CHECK(entry_for("cursor")["mcpServers"]["warder"]["headers"]["Authorization"] == "Bearer ${env:WARDER_TOKEN}");
  const Json code = entry_for("vscode");
  CHECK(code["servers"]["warder"]["headers"]["Authorization"] == "Bearer ${input:warder-token}");
  CHECK(code["inputs"][0]["id"] == "warder-token");
  CHECK(code["inputs"][0]["password"] == true);
  CHECK(entry_for("generic")["mcpServers"]["warder"]["url"] == url);
  CHECK(http_client_config("codex", url).error().hint.find("claude-code") != std::string::npos);
  for (const char* wrong : {"", "127.0.0.1:9470", "ftp://x", "http://a b", "http://a\"b", "http://a\nb"})
    CHECK(http_client_config("generic", wrong).error().code == Code::invalid);
}

TEST_CASE("an unknown client is refused with the list of known ones", "[config]") {
  const auto entry = client_config("emacs", "warder", kDefault);
  REQUIRE_FALSE(entry);
  CHECK(entry.error().what == "no client is called 'emacs'");
  CHECK(entry.error().hint.find("claude-code") != std::string::npos);
}

TEST_CASE("warder config prints the entry alone on standard output, the place on standard error", "[config][program]") {
  cli_test::Process listing({"config", "--list"});
  size_t count = 0;
  while (const auto name = listing.out.line()) {
    count++;
    cli_test::Process config({"config", *name, "--socket", "relative.sock"});
    const std::string text = config.out.rest();
    CAPTURE(*name, text);
    CHECK(config.wait().status == 0);
    CHECK(text.find("/relative.sock\"") != std::string::npos);  // made absolute
    CHECK(text.find(std::filesystem::canonical(cli_test::warder_program()).string()) != std::string::npos);
    if (*name != "codex" && *name != "goose") CHECK(Json::accept(text));
    CHECK(config.err.rest().find('\n') != std::string::npos);
  }
  CHECK(count == known_clients().size());
}

TEST_CASE("a mistyped command line says what is wrong and how to go on", "[program]") {
  using Row = std::tuple<std::vector<std::string>, std::string>;
  const auto [arguments, reply] = GENERATE(values<Row>({
      {{"frobnicate"}, "no command is called 'frobnicate'"},
      {{"--socket", "/x"}, "a command is missing"},
      {{"config"}, "config needs a CLIENT"},
      {{"config", "emacs"}, "no client is called 'emacs'"},
      {{"run"}, "warder run: a FILE, "},
      {{"run", "/does/not/exist.py"}, "No such file or directory"},
      {{"run", "-c", "1", "--context", "novalue"}, "is not NAME=VALUE"},
      {{"run", "-c", "1", "--language", "cobol"}, "cobol"},
      {{"run", "-c", "1", "--timeout", "-1"}, "--timeout"},
      {{"mcp", "--frob"}, "--frob"},
  }));
  CAPTURE(reply);
  cli_test::Process warder(arguments);
  const std::string errors = warder.err.rest();
  CHECK(errors.find(reply) != std::string::npos);
  CHECK(warder.out.rest().empty());
  CHECK(warder.wait().status == 2);
}

TEST_CASE("warder tells its version and its commands", "[program]") {
  cli_test::Process version({"--version"});
  CHECK(version.out.rest().substr(0, 7) == "warder ");
  CHECK(version.wait().status == 0);
  cli_test::Process help({"--help"});
  const std::string text = help.out.rest();
  for (const char* word : {"mcp", "run", "config", "--socket"}) CHECK(text.find(word) != std::string::npos);
  CHECK(help.wait().status == 0);
}
