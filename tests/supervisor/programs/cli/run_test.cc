#include "supervisor/programs/cli/run.h"
#include "supervisor/programs/cli/terminal.h"

#include <signal.h>

#include "supervisor/base/json/json_value.h"
#include "tests/catch.h"
#include "tests/supervisor/programs/cli/processes.h"

using namespace cli;
using cli_test::FakeDaemon;
using cli_test::Peer;
using cli_test::Process;
using namespace std::chrono_literals;

namespace {

Json answered(const Json& id, const Json& answer, Json meta = Json::object()) {
  Json result = {{"resultType", "complete"},
                 {"content", {{{"type", "text"}, {"text", answer.dump()}}}},
                 {"isError", !answer.value("success", false)}};
  if (!meta.empty()) result["_meta"] = std::move(meta);
  return cli_test::result(id, result);
}

}  // namespace

TEST_CASE("the exit status tells how the program ended", "[run]") {
  const auto [answer, status] = GENERATE(table<Json, int>({
      {{{"success", true}, {"outcome", "ok"}}, 0},
      {{{"success", true}}, 0},
      {{{"success", false}}, 1},
      {{{"success", false}, {"outcome", "error"}}, 1},
      {{{"success", false}, {"outcome", "exit"}, {"exit_status", 3}}, 3},
      {{{"success", false}, {"outcome", "exit"}}, 1},
      {{{"success", false}, {"outcome", "signal"}, {"signal", 11}}, 139},
      {{{"success", false}, {"outcome", "signal"}}, 1},
      {{{"success", false}, {"outcome", "timeout"}}, 124},
      {{{"success", false}, {"outcome", "cpu_time"}}, 124},
      {{{"success", false}, {"outcome", "memory"}}, 137},
      {{{"success", false}, {"outcome", "pids"}}, 1},
      {{{"success", false}, {"outcome", "forbidden_call"}}, 1},
      {{{"success", false}, {"outcome", "cancelled"}}, 130},
      {{{"success", false}, {"outcome", "internal"}}, 125},
      {Json::array(), 1},
      {{{"outcome", 7}, {"exit_status", "x"}}, 1},
  }));
  CAPTURE(answer.dump());
  CHECK(exit_status(answer) == status);
}

TEST_CASE("one request says everything; no handshake is needed", "[run]") {
  RunOptions options;
  options.code = "print(1)\n";
  options.language = "python";
  options.timeout_seconds = 2.5;
  options.context = {{"n", "7"}, {"name", "Ada"}, {"list", "[1,2]"}};
  const Json request = Json::parse(run_request(options, 3));
  CHECK(request["id"] == 3);
  CHECK(request["method"] == "tools/call");
  CHECK(request["params"]["name"] == "execute_code");
  const Json& arguments = request["params"]["arguments"];
  CHECK(arguments["code"] == "print(1)\n");
  CHECK(arguments["timeout_seconds"] == 2.5);
  CHECK_FALSE(arguments.contains("memory_mb"));
  CHECK(arguments["context_vars"] == Json{{"n", 7}, {"name", "Ada"}, {"list", {1, 2}}});
  const Json& meta = request["params"]["_meta"];
  CHECK(meta["io.modelcontextprotocol/protocolVersion"] == "2026-07-28");
  CHECK(meta["io.modelcontextprotocol/clientCapabilities"] == Json::object());
}

TEST_CASE("small helpers of the command line", "[run]") {
  CHECK(language_of("a.py") == "python");
  CHECK(language_of("a.mjs") == "javascript");
  CHECK(language_of("a.ts") == "typescript");
  CHECK(language_of("dir.js/a.sh") == "shell");
  CHECK(language_of("-") == "python");
  CHECK(parse_context("a=b=c") == std::pair<std::string, std::string>("a", "b=c"));
  CHECK(parse_context("a=") == std::pair<std::string, std::string>("a", ""));
  CHECK_FALSE(parse_context("=b"));
  CHECK_FALSE(parse_context("ab"));
  CHECK(for_terminal("tab\tand\nline, äöü €") == "tab\tand\nline, äöü €");
  CHECK(for_terminal("\x1b[2J\r\x07\x7f\xc2\x9b!") == "\\x1b[2J\\x0d\\x07\\x7f\\x9b!");
  CHECK(for_terminal("\xff") == "\xef\xbf\xbd");
}

TEST_CASE("warder run prints what the program said and ends as it did", "[run][program]") {
  FakeDaemon daemon;
  daemon.start();

  SECTION("output, result, standard error, exit status") {
    Process run({"run", "--socket", daemon.path(), "-c", "code"});
    Peer peer = daemon.accept();
    const Json request = peer.request();
    CHECK(request["params"]["arguments"]["code"] == "code");
    peer.send(Json{{"jsonrpc", "2.0"}, {"method", "notifications/message"}});  // not ours
    peer.send(answered(request["id"], {{"success", false},
                                       {"outcome", "exit"},
                                       {"exit_status", 5},
                                       {"output", {"one", "", "two"}},
                                       {"result", {{"a", 1}}},
                                       {"stderr", "oops\n"}}));
    CHECK(run.out.rest() == "one\n\ntwo\n{\"a\":1}\n");
    CHECK(run.err.rest() == "oops\n");
    CHECK(run.wait().status == 5);
  }
  SECTION("a traceback instead of the bare error") {
    Process run({"run", "--socket", daemon.path(), "-"});
    cli_test::write_all(run.in.get(), "1/0");
    run.in.reset();
    Peer peer = daemon.accept();
    const Json request = peer.request();
    CHECK(request["params"]["arguments"]["code"] == "1/0");
    peer.send(
        answered(request["id"], {{"success", false}, {"outcome", "error"}, {"error", "E"}, {"traceback", "T\nE"}}));
    CHECK(run.err.rest() == "T\nE\n");
    CHECK(run.wait().status == 1);
  }
  SECTION("a traceback, and an error that it does not have") {
    Process run({"run", "--socket", daemon.path(), "-c", "1/0"});
    Peer peer = daemon.accept();
    peer.send(
        answered(peer.request()["id"],
                 {{"success", false}, {"outcome", "error"}, {"error", "E: text (advice)"}, {"traceback", "T\nE"}}));
    CHECK(run.err.rest() == "T\nE: text (advice)\n");
    CHECK(run.wait().status == 1);
  }
  SECTION("--json and --receipt") {
    Process run({"run", "--socket", daemon.path(), "-c", "1", "--json", "--receipt"});
    Peer peer = daemon.accept();
    const Json answer = {{"success", true}, {"outcome", "ok"}, {"output", {"x"}}};
    peer.send(answered(peer.request()["id"], answer, {{"org.warder/receipt", {{"namespaces", {"user", "pid"}}}}}));
    CHECK(Json::parse(run.out.rest()) == answer);
    CHECK(Json::parse(run.err.rest()) == Json{{"namespaces", {"user", "pid"}}});
    CHECK(run.wait().status == 0);
  }
  SECTION("--json has one shape, also with a picture or a refusal that is plain text") {
    Process run({"run", "--socket", daemon.path(), "-c", "1", "--json"});
    Peer peer = daemon.accept();
    const Json answer = {{"success", true}, {"outcome", "ok"}, {"result", 1}};
    const Json picture = {{"type", "image"}, {"data", "AA=="}, {"mimeType", "image/png"}};
    Json message = answered(peer.request()["id"], answer);
    message["result"]["content"].push_back(picture);
    peer.send(message);
    Json expected = answer;
    expected["content"] = Json::array({picture});
    CHECK(Json::parse(run.out.rest()) == expected);
    Process refused({"run", "--socket", daemon.path(), "-c", "1", "--json"});
    Peer retry = daemon.accept();
    const Json text = {{"type", "text"}, {"text", "memory_mb: too much"}};
    retry.send(cli_test::result(retry.request()["id"], {{"isError", true}, {"content", Json::array({text})}}));
    CHECK(Json::parse(refused.out.rest()) == Json{{"success", false}, {"error", "memory_mb: too much"}});
    CHECK(refused.wait().status == 1);
  }
  SECTION("an error of warderd, with its remedy") {
    Process run({"run", "--socket", daemon.path(), "-c", "1"});
    Peer peer = daemon.accept();
    peer.send(Json{{"jsonrpc", "2.0"},
                   {"id", peer.request()["id"]},
                   {"error", {{"code", -32603}, {"message", "no jails left"}, {"data", {{"remedy", "wait"}}}}}});
    const std::string errors = run.err.rest();
    CHECK(errors.find("no jails left") != std::string::npos);
    CHECK(errors.find("wait") != std::string::npos);
    CHECK(run.wait().status == 125);
  }
  SECTION("a refusal that is plain text") {
    Process run({"run", "--socket", daemon.path(), "-c", "1"});
    Peer peer = daemon.accept();
    peer.send(cli_test::result(
        peer.request()["id"], {{"isError", true}, {"content", {{{"type", "text"}, {"text", "memory_mb: too much"}}}}}));
    CHECK(run.err.rest() == "memory_mb: too much\n");
    CHECK(run.wait().status == 1);
  }
  SECTION("interrupted: the execution is cancelled") {
    Process run({"run", "--socket", daemon.path(), "-c", "1"});
    Peer peer = daemon.accept();
    const Json request = peer.request();
    run.signal(SIGINT);
    const Json cancelled = peer.request();
    CHECK(cancelled["method"] == "notifications/cancelled");
    CHECK(cancelled["params"]["requestId"] == request["id"]);
    CHECK(run.wait().status == 130);
  }
  SECTION("a daemon that goes away, or talks nonsense") {
    Process run({"run", "--socket", daemon.path(), "-c", "1"});
    Peer peer = daemon.accept();
    peer.request();
    const std::string nonsense =
        GENERATE("", "garbage", R"({"jsonrpc":"2.0","id":1})", R"({"id":1,"result":{"content":7}})");
    if (!nonsense.empty()) peer.send_line(nonsense);
    peer.close();
    CHECK_FALSE(run.err.rest().empty());
    CHECK(run.wait().status != 126);
  }
}

TEST_CASE("warder run without a daemon names the command that starts it", "[run][program]") {
  FakeDaemon daemon;
  Process run({"run", "-c", "1"}, {"WARDER_SOCKET=" + daemon.path()});
  CHECK(run.err.rest().find("--socket " + daemon.path()) != std::string::npos);
  CHECK(run.wait().status == 125);
}
