#include "supervisor/executions/runs/answer_advice.h"

#include "jail/execution/execution.h"
#include "jail/execution/outcome.h"
#include "supervisor/base/json/json_value.h"
#include "tests/catch.h"

using Catch::Matchers::Contains;
using jail::Language;

namespace {

// What is said about the failure of execution e2 after e1 ran `earlier`.
std::string reply(Language language, const std::string& earlier, const std::string& error,
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
  CHECK_THAT(reply(language, earlier, error), Contains("the earlier execution e1 defined `x`"));
  CHECK(reply(language, "print('x')", error).empty());
  CHECK(reply(language, "xx = 1", error).empty());
}

TEST_CASE("the sentence says how to keep the name", "[runs]") {
  const std::string error = "NameError: name 'x' is not defined";
  CHECK_THAT(reply(Language::python, "x = 1", error), Contains("the same `session`"));
  CHECK_THAT(reply(Language::python, "x = 1", error, "s"), Contains("session=\"s\""));
  CHECK_THAT(reply(Language::shell, "x() { ls; }", "x: command not found"), Contains("files of /workspace"));
  CHECK(reply(Language::python, "x == 1", error).empty());
  CHECK(reply(Language::python, "f(x=1)", error).empty());
  CHECK(reply(Language::python, "x = 1", "ValueError: x").empty());
}

TEST_CASE("a file of an earlier program's /tmp is known again", "[runs]") {
  CHECK_THAT(reply(Language::python, "open('/tmp/a.csv', 'w')",
                   "FileNotFoundError: [Errno 2] No such file or directory: '/tmp/a.csv'"),
             Contains("/tmp of its own"));
  CHECK_THAT(reply(Language::shell, "echo > /tmp/a", "cat: /tmp/a: No such file or directory"), Contains("/workspace"));
  CHECK(
      reply(Language::python, "open('/tmp/b')", "FileNotFoundError: No such file or directory: '/tmp/a.csv'").empty());
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

TEST_CASE("only programs before this one, and of its language, explain a name", "[runs]") {
  executions::RecentCode recent;
  recent.begin("t", "e1", "javascript", "const x = 1", 10, 1);
  recent.begin("t", "e2", "python", "x", 10, 2);
  recent.begin("t", "e3", "python", "x = 1", 10, 3);
  const std::string tenant = "t", id = "e2", session;
  jail::Report report;
  report.outcome = jail::Outcome::error;
  report.error = "NameError: name 'x' is not defined";
  CHECK(runs::earlier_name_advice(recent, {tenant, id, session, Language::python}, report).empty());
  report.error = "ReferenceError: x is not defined";
  CHECK_THAT(runs::earlier_name_advice(recent, {tenant, id, session, Language::typescript}, report),
             Contains("e1 defined `x`"));
}

TEST_CASE("each form of a shell's message about a name is known", "[runs]") {
  for (const char* message : {"execution: line 3: total: unbound variable", "sh: 1: total: not found",
                              "execution: line 1: total: command not found"}) {
    CAPTURE(message);
    CHECK_THAT(reply(Language::shell, "total=5", message), Contains("defined `total`"));
  }
  CHECK(reply(Language::shell, "total=5", "total: is a directory").empty());
}

TEST_CASE("a name that stands inside a block, a call or a comparison was not made there", "[runs]") {
  const std::string error = "NameError: name 'x' is not defined";
  for (const char* code : {"    x = 1", "if True:\n  x = 1", "x()", "y.x = 1", "print(x)", "# x = 1", "lambda x: 1"}) {
    CAPTURE(code);
    CHECK(reply(Language::python, code, error).empty());
  }
}

TEST_CASE("texts that are no names are not searched for", "[runs]") {
  const std::string large(81, 'x');
  CHECK(reply(Language::python, large + " = 1", "NameError: name '" + large + "' is not defined").empty());
  CHECK(reply(Language::python, "1x = 1", "NameError: name '1x' is not defined").empty());
  CHECK(reply(Language::python, "a-b = 1", "NameError: name 'a-b' is not defined").empty());
  CHECK(reply(Language::python, "x = 1", "").empty());
  CHECK(reply(Language::python, "x = 1", std::string(5000, ' ') + "NameError: name 'x' is not defined").empty());
}

TEST_CASE("a missing file of Node's is known again, and only below /tmp", "[runs]") {
  CHECK_THAT(reply(Language::javascript, "fs.writeFileSync('/tmp/a.json', '1')",
                   "Error: ENOENT: no such file or directory, open '/tmp/a.json'"),
             Contains("or one `session`"));
  CHECK(reply(Language::javascript, "'/home/a.json'", "Error: ENOENT: no such file or directory, open '/home/a.json'")
            .empty());
  CHECK(reply(Language::python, "'/tmp/'", "FileNotFoundError: No such file or directory: '/tmp/'").empty());
}

TEST_CASE("an export counts if it is a command of a shell program, and the variable is not read here", "[runs]") {
  const auto advice = [](std::string_view language, const std::string& earlier, const std::string& code) {
    executions::RecentCode recent;
    recent.begin("t", "e1", language, earlier, 10, 1);
    recent.begin("t", "e2", "shell", "now", 10, 2);
    const std::string tenant = "t", id = "e2", session;
    return runs::earlier_export_advice(recent, {tenant, id, session, Language::shell}, code);
  };
  CHECK_FALSE(advice("shell", "cd /tmp && export A=1", "echo $A").empty());
  CHECK_FALSE(advice("shell", "true;export A=1", "echo \"${A}\"").empty());
  CHECK(advice("shell", "myexport A=1", "echo $A").empty());
  CHECK(advice("shell", "export A", "echo $A").empty());
  CHECK(advice("shell", "export A=1", "read A; echo $A").empty());
  CHECK(advice("shell", "export A=1", "echo A").empty());
  CHECK(advice("python", "export A=1", "echo $A").empty());
}

TEST_CASE("a null result needs no note if the program printed, answered or drew", "[runs]") {
  jail::Report report;
  report.outcome = jail::Outcome::ok;
  const auto note = [&] { return runs::null_result_advice("x = 5", Language::python, report); };
  CHECK_FALSE(note().empty());
  report.value = Json();
  CHECK_FALSE(note().empty());
  report.value = 5;
  CHECK(note().empty());
  report.value.reset();
  report.out.bytes = 1;
  CHECK(note().empty());
  report.out.bytes = 0;
  report.images.push_back({"image/png", ""});
  CHECK(note().empty());
  report.images.clear();
  report.outcome = jail::Outcome::error;
  CHECK(note().empty());
}

TEST_CASE("a program of Node's that asks a person learns that no person can type", "[runs]") {
  CHECK_THAT(null_note("const rl = readline.createInterface({});\nrl.question('Name?', f)", Language::javascript),
             Contains("context_vars"));
  CHECK_THAT(null_note("export const total: number = 1;", Language::typescript), Contains("`total`"));
  CHECK(null_note("const f = () => 1; f()", Language::javascript).find("`f`") != std::string::npos);
  CHECK(null_note("x => 1", Language::javascript).empty());
  CHECK(null_note("echo read", Language::shell).empty());
}
