#include "supervisor/executions/runs/answer_advice.h"

#include "tests/catch.h"

using Catch::Matchers::Contains;
using jail::Language;

namespace {

// What is said about the failure of execution e2 after e1 ran `earlier`.
std::string said(Language language, const std::string& earlier, const std::string& error,
                 const std::string& session = "") {
  executions::RecentCode recent;
  recent.begin("t", "e1", jail::language_name(language), earlier, 10, 1);
  recent.begin("other", "e9", jail::language_name(language), error, 10, 1);
  recent.begin("t", "e2", jail::language_name(language), "now", 10, 2);
  jail::Report report;
  const bool is_shell = language == Language::shell;
  report.outcome = is_shell ? jail::Outcome::exit : jail::Outcome::error;
  (is_shell ? report.err.text : report.error) = error;
  const std::string tenant = "t", id = "e2";
  return runs::earlier_name_advice(recent, {tenant, id, session, language}, report);
}

std::string null_note(const std::string& code, Language language = Language::python) {
  jail::Report report;
  report.outcome = jail::Outcome::ok;
  return runs::null_result_advice(code, language, report);
}

}  // namespace

TEST_CASE("an unknown name that an earlier program of the tenant made is known again", "[runs]") {
  const auto [language, earlier] =
      GENERATE(table<Language, std::string>({{Language::python, "x = 1"},
                                             {Language::python, "a, x = 1, 2"},
                                             {Language::python, "x: int = 1"},
                                             {Language::python, "def x(): pass"},
                                             {Language::python, "class x: pass"},
                                             {Language::python, "import x"},
                                             {Language::python, "from a import b as x"},
                                             {Language::python, "y = 'x'\nfor x in y: pass"},
                                             {Language::javascript, "const x = 1"},
                                             {Language::javascript, "async function x() {}"},
                                             {Language::typescript, "let x: number = 1"},
                                             {Language::shell, "x() { ls; }"},
                                             {Language::shell, "function x { ls; }"}}));
  CAPTURE(jail::language_name(language), earlier);
  const std::string error = language == Language::python  ? "NameError: name 'x' is not defined"
                            : language == Language::shell ? "execution: line 1: x: command not found"
                                                          : "ReferenceError: x is not defined";
  CHECK_THAT(said(language, earlier, error), Contains("the earlier execution e1 defined `x`"));
  CHECK(said(language, "print('x')", error).empty());
  CHECK(said(language, "xx = 1", error).empty());
}

TEST_CASE("the sentence says how to keep the name", "[runs]") {
  const std::string error = "NameError: name 'x' is not defined";
  CHECK_THAT(said(Language::python, "x = 1", error), Contains("the same `session`"));
  CHECK_THAT(said(Language::python, "x = 1", error, "s"), Contains("session=\"s\""));
  CHECK_THAT(said(Language::shell, "x() { ls; }", "x: command not found"), Contains("files of /workspace"));
  CHECK(said(Language::python, "x == 1", error).empty());
  CHECK(said(Language::python, "f(x=1)", error).empty());
  CHECK(said(Language::python, "x = 1", "ValueError: x").empty());
}

TEST_CASE("a file of an earlier program's /tmp is known again", "[runs]") {
  CHECK_THAT(said(Language::python, "open('/tmp/a.csv', 'w')",
                  "FileNotFoundError: [Errno 2] No such file or directory: '/tmp/a.csv'"),
             Contains("/tmp of its own"));
  CHECK_THAT(said(Language::shell, "echo > /tmp/a", "cat: /tmp/a: No such file or directory"), Contains("/workspace"));
  CHECK(said(Language::python, "open('/tmp/b')", "FileNotFoundError: No such file or directory: '/tmp/a.csv'").empty());
}

TEST_CASE("an exported variable of an earlier shell program is known again", "[runs]") {
  executions::RecentCode recent;
  recent.begin("t", "e1", "shell", "export KEY=a OTHER=b; echo exportation", 10, 1);
  recent.begin("t", "e2", "shell", "now", 10, 2);
  const std::string tenant = "t", id = "e2", session;
  const runs::AdvisedExecution execution{tenant, id, session, Language::shell};
  CHECK_THAT(runs::earlier_export_advice(recent, execution, "echo ${KEY}"), Contains("`KEY` is not set here"));
  CHECK(runs::earlier_export_advice(recent, execution, "KEY=b; echo $KEY").empty());
  CHECK(runs::earlier_export_advice(recent, execution, "echo $HOME $").empty());
}

TEST_CASE("a null result of a program that ends with an assignment is explained", "[runs]") {
  CHECK_THAT(null_note("results = 5"), Contains("assigning to `results`"));
  CHECK_THAT(null_note("t = [\n  1,\n]\n# end\n"), Contains("assigning to `t`"));
  CHECK_THAT(null_note("const x = 1;", Language::javascript), Contains("assigning to `x`"));
  CHECK_THAT(null_note("def main():\n    result = 5\nmain()"), Contains("inside a function"));
  CHECK_THAT(null_note("read -p 'Name? ' x", Language::shell), Contains("no person can type"));
  const auto code = GENERATE(as<std::string>{}, "pass", "", "f(x=1)", "x == 1", "if x:\n    y = 1", "result = None",
                             "x = '''\ny = 2\n'''\nf()", "import os", "def f():\n    result = 5\nresult = f()");
  CAPTURE(code);
  CHECK(null_note(code).empty());
}
