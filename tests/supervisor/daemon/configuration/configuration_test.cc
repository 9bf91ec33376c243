// The configuration's files: the main file, drop-ins, and what is said about each mistake.
#include "supervisor/daemon/configuration/report.h"
#include "tests/supervisor/daemon/configuration/scene.h"

using configuration::LoadedConfiguration;

TEST_CASE("without a file the defaults hold, and a named file must exist", "[configuration]") {
  ConfigurationScene scene;
  const LoadedConfiguration named = scene.load();
  CHECK(named.notes.problems ==
        std::vector<std::string>{scene.path("warderd.json") + ": cannot be read: No such file or directory"});

  ::setenv("XDG_CONFIG_HOME", scene.path("home").c_str(), 1);
  scene.invocation.flags.config.clear();
  scene.invocation.by_root = false;
  const LoadedConfiguration none = scene.load();
  CHECK(none.good());
  CHECK(none.document.files().empty());
  std::filesystem::create_directories(scene.folder / "home/warder/warderd.json.d");
  scene.write("home/warder/warderd.json.d/10-level.json", R"({"log_level": "debug"})");
  CHECK(scene.load().options.log_level == LogLevel::debug);
  ::unsetenv("XDG_CONFIG_HOME");
  scene.invocation.by_root = true;
  CHECK(configuration::default_file(scene.invocation) == "/etc/warder/warderd.json");
}

TEST_CASE("drop-ins are merged in the order of their names", "[configuration]") {
  ConfigurationScene scene;
  scene.write("warderd.json", R"({"user": "a", "log_level": "error", "policies": ["/x"],
    "servers": {"near": {"command": "/usr/bin/a", "args": ["1", "2"], "timeout_s": 5}}})");
  scene.write("warderd.json.d/20.json", R"({"user": "c", "servers": {"near": {"args": ["3"]}}})");
  scene.write("warderd.json.d/10.json", R"({"user": "b", "servers": {"far": {"url": "http://127.0.0.1/mcp"}}})");
  scene.write("warderd.json.d/30.json.dpkg-old", "no JSON");
  scene.write("warderd.json.d/.hidden.json", "no JSON");
  const LoadedConfiguration loaded = scene.load();
  CHECK(loaded.options.user == "c");
  CHECK(loaded.options.log_level == LogLevel::error);
  REQUIRE(loaded.options.servers.size() == 2);
  const auto& near = loaded.options.servers[0];
  CHECK(near.command == std::vector<std::string>{"/usr/bin/a", "3"});  // a list is replaced
  CHECK(near.timeout == std::chrono::seconds(5));                      // an object is merged
  CHECK(loaded.options.servers[1].name == "far");
  CHECK(loaded.document.files() == std::vector<std::string>{scene.path("warderd.json"),
                                                            scene.path("warderd.json.d/10.json"),
                                                            scene.path("warderd.json.d/20.json")});
}

TEST_CASE("a key that is there twice in a drop-in of servers or of tokens is a problem with both lines",
          "[configuration]") {
  ConfigurationScene scene;
  scene.write("warderd.json", R"({"servers": {"near": {"command": "/usr/bin/a", "jail": "default"}}})");
  scene.write("warderd.json.d/50-server-near.json",
              "{\"servers\": {\"near\": {\n  \"jail\": \"default\",\n  \"jail\": \"none\"}}}");
  const std::string hash = "\"blake2b:" + std::string(64, '0') + "\"";
  scene.write("warderd.json.d/50-token-ci.json", "{\"tokens\": {\"ci\": {\n\"hash\": " + hash +
                                                     ", \"expires\": \"2027-01-01T00:00:00Z\",\n\n\"expires\": "
                                                     "\"2099-01-01T00:00:00Z\"}}}");
  scene.write("warderd.json.d/60-token-ci.json",
              "{\"tokens\": {\"one\": {\"hash\": " + hash + "},\n  \"one\": {\"hash\": " + hash + "}}}");
  const LoadedConfiguration loaded = scene.load();
  CHECK_FALSE(loaded.good());
  REQUIRE(loaded.notes.problems.size() == 3);
  const auto starts = [&](size_t number, const std::string& text) {
    CHECK_THAT(loaded.notes.problems[number], Catch::Matchers::StartsWith(scene.path("warderd.json.d/") + text));
  };
  starts(0, "50-server-near.json: line 3, column 3: the key \"jail\" is there twice, first in line 2");
  starts(1, "50-token-ci.json: line 4, column 1: the key \"expires\" is there twice, first in line 2");
  starts(2, "60-token-ci.json: line 2, column 3: the key \"one\" is there twice, first in line 1");
  CHECK(loaded.options.tokens.empty());  // no token of a file with a mistake is valid
}

TEST_CASE("every mistake is named, with the file that holds it, and other keys hold", "[configuration]") {
  ConfigurationScene scene;
  scene.write("warderd.json", R"({"log_level": "debug", "bus": "nowhere", "journal": {"days_kept": 0},
    "servers": {"one": {"args": []}, "two": {"command": "/x", "idle_s": 0}}})");
  scene.write("warderd.json.d/a.json", R"({"sokcet": "/run/x", "servers": {"two": {"start_s": "soon"}}})");
  scene.write("warderd.json.d/b.json", "{");
  scene.write("policies/own.json", R"({"extends": "default", "limits": {"standard": {"tasks": 0}}})");
  scene.write("policies/tenants.json", R"({"rules": [{"default": true, "policy": "own"}]})");
  const LoadedConfiguration loaded = scene.load();
  const std::string main = scene.path("warderd.json") + ": ", drop_in = scene.path("warderd.json.d/a.json") + ": ";
  std::string all;
  for (const auto& problem : loaded.notes.problems) {
    CHECK(problem.find('\n') == std::string::npos);
    all += problem + "\n";
  }
  CAPTURE(all);
  CHECK(all.find(main + "bus: nowhere: not system, session, off or an address (an address looks like") != all.npos);
  CHECK(all.find(main + "journal.days_kept: 0 is outside 1..36500") != all.npos);
  CHECK(all.find(main + "servers.one.command: missing") != all.npos);
  CHECK(all.find(main + "servers.two.idle_s: 0 is outside 1..604800") != all.npos);
  CHECK(all.find(drop_in + "sokcet: unknown key; known keys: $schema, bus, catalog") != all.npos);
  CHECK(all.find(scene.path("warderd.json.d/b.json") + ": not JSON") != all.npos);
  CHECK(all.find(scene.path("policies/own.json") + ": limits.standard.tasks: 0 is outside 4..65536") != all.npos);
  CHECK(loaded.options.log_level == LogLevel::debug);
  CHECK(loaded.options.bus == "off");
  CHECK(configuration::report_of(loaded).good.empty());
  CHECK(configuration::summary_of(loaded.notes.problems).ends_with("more)"));
}

TEST_CASE("a file that others may write, a null and a folder in the place of a file are refused", "[configuration]") {
  ConfigurationScene scene;
  scene.write("warderd.json", "{}");
  REQUIRE(::chmod(scene.path("warderd.json").c_str(), 0666) == 0);
  CHECK(scene.load().notes.problems.at(0) == scene.path("warderd.json") + ": all users may write the file (chmod o-w)");
  scene.write("warderd.json", R"({"servers": {"a": {"env": {"B": null}}}})");
  CHECK(scene.load().notes.problems.at(0) ==
        scene.path("warderd.json") + ": servers.a.env.B: null is not a value (leave out the key)");
  scene.write("warderd.json", "{}");
  std::filesystem::create_directories(scene.folder / "warderd.json.d/x.json");
  CHECK(scene.load().notes.problems.at(0) ==
        scene.path("warderd.json.d/x.json") + ": cannot be read: not a regular file");
}

TEST_CASE("an import that cannot be used is skipped with a warning, and its other servers are taken",
          "[configuration]") {
  ConfigurationScene scene;
  scene.write("warderd.json", R"({"servers": {"own": {"command": "/usr/bin/a"}}, "import": [
    {"file": ")" + scene.path("absent.json") +
                                  R"("}, {"file": ")" + scene.path("client.json") + R"("}]})");
  scene.write("client.json", R"({"mcpServers": {"good": {"command": "/usr/bin/b"}, "own": {"command": "/usr/bin/c"},
    "unset": {"command": "${NO_SUCH_VARIABLE_1}"}, "old": {"type": "sse", "url": "http://a/"}}})");
  const LoadedConfiguration loaded = scene.load();
  CHECK(loaded.notes.problems == std::vector<std::string>{});
  REQUIRE(loaded.options.servers.size() == 2);
  CHECK(loaded.options.servers[0].command.front() == "/usr/bin/a");
  CHECK(loaded.options.servers[1].name == "good");
  CHECK(loaded.options.servers[1].imported_from == scene.path("client.json"));
  std::string warnings;
  for (const auto& warning : loaded.notes.warnings) warnings += warning + "\n";
  CAPTURE(warnings);
  CHECK(warnings.find("import[0] is skipped: open " + scene.path("absent.json") + ": No such file") != warnings.npos);
  CHECK(warnings.find("server 'unset' is skipped: ") != warnings.npos);
  CHECK(warnings.find("server 'old' is skipped: it neither has a command nor speaks Streamable HTTP") != warnings.npos);
  CHECK(warnings.find("import: server 'own' is skipped: two servers are named 'own'") != warnings.npos);

  scene.write("warderd.json", R"({"import": [{"jail": "none"}]})");
  CHECK(scene.load().notes.problems.at(0) == scene.path("warderd.json") + ": import[0].file: missing");
}

TEST_CASE("flags win, and relative paths begin at the folder of the start", "[configuration]") {
  ConfigurationScene scene;
  scene.write("warderd.json", R"({"socket": "run/mcp.sock", "state": "/elsewhere", "log_level": "error"})");
  scene.invocation.folder = "/srv/start";
  scene.invocation.flags.log_level = "debug";
  const LoadedConfiguration loaded = scene.load();
  CHECK(loaded.options.socket == "/srv/start/run/mcp.sock");
  CHECK(loaded.options.state == scene.path("state"));
  CHECK(loaded.options.log_level == LogLevel::debug);
}
