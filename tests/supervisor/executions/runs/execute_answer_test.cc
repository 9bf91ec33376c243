// The answer of execute_code: which keys it has for which end of a program, and what counts as the tool's error.
#include "supervisor/executions/runs/execute_answer.h"

#include "jail/execution/execution.h"
#include "jail/execution/outcome.h"
#include "supervisor/base/json/json.h"
#include "tests/catch.h"

namespace {

struct Answered {
  jail::Report report;
  runs::ExecuteAnswer answer;

  explicit Answered(jail::Outcome outcome) {
    report.outcome = outcome;
    report.usage.wall_ms = 12.3456;
    answer.execution_id = "e0123456789abcdef";
    answer.report = &report;
  }
  mcp::ToolResult result() const { return runs::make_answer(answer); }
  Json json() const { return Json::parse(std::get<mcp::Text>(result().content.at(0)).text); }
};

}  // namespace

TEST_CASE("the answer of a program that succeeded", "[answer]") {
  Answered s(jail::Outcome::ok);
  s.report.value = Json{{"sum", 3}};
  s.report.out.text = "one\ntwo\n\"three\"";
  const Json answer = s.json();
  CHECK(answer["success"] == true);
  CHECK(answer["result"] == Json{{"sum", 3}});
  CHECK(answer["output"] == Json({"one", "two", "\"three\""}));
  CHECK(answer["execution_time_ms"] == 12);
  CHECK(answer["execution_id"] == "e0123456789abcdef");
  CHECK(answer["outcome"] == "ok");
  CHECK_FALSE(answer.contains("usage"));
  s.answer.has_receipt = true;
  CHECK(s.json()["usage"]["wall_ms"] == 12.346);
  for (const char* absent : {"error", "traceback", "stderr", "files", "truncated", "clamped", "notes", "session"})
    CHECK_FALSE(answer.contains(absent));
  CHECK_FALSE(s.result().is_error);
}

TEST_CASE("a branch's element has only keys that say something", "[answer]") {
  Answered s(jail::Outcome::ok);
  s.answer.form = runs::AnswerForm::branch;
  s.report.value = Json(3);
  Json element = s.json();
  CHECK(element["result"] == 3);
  CHECK(element["outcome"] == "ok");
  CHECK(element["execution_id"] == "e0123456789abcdef");
  for (const char* absent : {"success", "output", "execution_time_ms", "error"}) CHECK_FALSE(element.contains(absent));
  s.report.out.text = "line";
  CHECK(s.json()["output"] == Json({"line"}));
  const Error refused{Code::denied, 0, "no", "do this", "a.rule"};
  const auto result = runs::make_refusal("", refused, runs::ProgramRan::no, runs::AnswerForm::branch);
  element = Json::parse(std::get<mcp::Text>(result.content.at(0)).text);
  CHECK(element ==
        Json{{"error", "no"}, {"code", "denied"}, {"rule", "a.rule"}, {"remedy", "do this"}, {"outcome", "denied"}});
}

TEST_CASE("a large result is written already, and null is a result", "[answer]") {
  Answered s(jail::Outcome::ok);
  SECTION("no value") { CHECK(s.json()["result"].is_null()); }
  SECTION("text that was written beside the loop") {
    s.answer.result = "[1,2]";
    CHECK(s.json()["result"] == Json({1, 2}));
  }
}

TEST_CASE("the answer of a program that raised an exception", "[answer]") {
  Answered s(jail::Outcome::error);
  s.report.error = "ValueError: no";
  s.report.traceback = "line 1";
  s.report.message = "advice";
  s.report.exit_status = 1;
  const Json answer = s.json();
  CHECK(answer["success"] == false);
  CHECK_FALSE(answer.contains("exit_status"));  // that of every error
  CHECK(answer["error"] == "ValueError: no (advice)");
  CHECK(answer["traceback"] == "line 1");
  CHECK_FALSE(answer.contains("result"));
  CHECK(s.result().is_error);
}

TEST_CASE("an error with a status of its own has it in the answer", "[answer]") {
  Answered s(jail::Outcome::error);
  s.report.error = "ValueError: no";
  s.report.exit_status = 3;
  CHECK(s.json()["exit_status"] == 3);
  s.report.exit_status = 0;
  CHECK_FALSE(s.json().contains("exit_status"));
}

TEST_CASE("status 1 of shell is an answer where the policy says so, and stderr is empty", "[answer]") {
  Answered s(jail::Outcome::exit);
  s.report.exit_status = 1;
  CHECK(s.result().is_error);
  s.answer.shell_exit_1 = policies::ShellExit1::answer;
  CHECK_FALSE(s.result().is_error);
  CHECK(s.json()["success"] == false);
  CHECK(s.json()["exit_status"] == 1);
  s.report.err.bytes = 1;
  CHECK(s.result().is_error);
}

TEST_CASE("a full workspace says how to make room, and an internal end says that the program may have run",
          "[answer]") {
  Answered full(jail::Outcome::disk);
  full.answer.quota = Error{Code::exhausted, 0, "ran out of space", "delete", "quota.workspace_bytes"};
  CHECK(full.json()["error"] == "ran out of space");
  CHECK(full.json()["rule"] == "quota.workspace_bytes");
  CHECK(full.json()["remedy"] == "delete");
  Answered internal(jail::Outcome::internal);
  CHECK(internal.json()["may_have_run"] == true);
}

TEST_CASE("cut output names its resource, and five created files are links", "[answer]") {
  Answered s(jail::Outcome::ok);
  s.report.out = {"head", 1000, 10, true};
  tenants::Changes changes;
  for (const char* name : {"a", "b c", "d", "e", "f", "g"}) changes.created.paths.emplace_back(name);
  changes.deleted.omitted = 2;
  s.answer.changes = &changes;
  const Json answer = s.json();
  CHECK(answer["truncated"]["stdout"]["bytes"] == 1000);
  CHECK(answer["truncated"]["stdout"]["resource"] == "exec:///e0123456789abcdef/stdout");
  CHECK_FALSE(answer["truncated"].contains("stderr"));
  CHECK(answer["files"]["created"].size() == 6);
  CHECK(answer["files"]["omitted"] == 2);
  const mcp::ToolResult result = s.result();
  REQUIRE(result.content.size() == 6);
  CHECK(std::get<mcp::ResourceLink>(result.content[2]).uri == "workspace:///b%20c");
}

TEST_CASE("processes that were left running are a note", "[answer]") {
  Answered s(jail::Outcome::ok);
  s.report.left_running = 1;
  const Json answer = s.json();
  REQUIRE(answer["notes"].size() == 1);
  CHECK(answer["notes"][0].get<std::string>().find("1 process that the program left running") == 0);
}

TEST_CASE("a refusal says by its code whether the program may have run", "[answer]") {
  auto refusal = [](Code code, runs::ProgramRan ran, const std::string& id = {}) {
    const mcp::ToolResult result = runs::make_refusal(id, Error{code, 0, "no", "wait", "rule"}, ran);
    CHECK(result.is_error);
    return Json::parse(std::get<mcp::Text>(result.content.at(0)).text);
  };
  const Json denied = refusal(Code::denied, runs::ProgramRan::no);
  CHECK(denied["outcome"] == "denied");
  CHECK(denied["code"] == "denied");
  CHECK(denied["rule"] == "rule");
  CHECK(denied["remedy"] == "wait");
  CHECK_FALSE(denied.contains("may_have_run"));
  CHECK_FALSE(denied.contains("execution_id"));
  CHECK(refusal(Code::unavailable, runs::ProgramRan::no)["may_have_run"] == false);
  const Json maybe = refusal(Code::unavailable, runs::ProgramRan::maybe, "e1");
  CHECK(maybe["may_have_run"] == true);
  CHECK(maybe["outcome"] == "internal");
  CHECK(maybe["execution_id"] == "e1");
  CHECK(refusal(Code::exhausted, runs::ProgramRan::maybe)["outcome"] == "internal");
}
