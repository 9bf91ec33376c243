#include "supervisor/executions/sent_code.h"

#include "supervisor/executions/code_fences.h"
#include "tests/catch.h"

using executions::read_sent_code;
using jail::Language;

namespace {

struct Case {
  Language language;
  std::string sent, code, note;  // empty note: none
};

std::string joined(const std::vector<std::string>& notes) {
  std::string all;
  for (const std::string& note : notes) all += (all.empty() ? "" : " | ") + note;
  return all;
}

void check(const Case& item) {
  CAPTURE(jail::language_name(item.language), item.sent);
  const auto sent = read_sent_code(item.sent, item.language);
  REQUIRE(sent);
  CHECK(sent->code == item.code);
  CHECK(joined(sent->notes) == item.note);
}

constexpr Language kPython = Language::python, kScript = Language::javascript, kTyped = Language::typescript,
                   kShell = Language::shell;
const std::string kTook = "took the code between the fences";

}  // namespace

TEST_CASE("the code between fences is the program, in each language", "[executions]") {
  for (const Language language : jail::kLanguages) {
    for (const char* mark : {"```", "~~~", "````"}) {
      const std::string fence = mark;
      check({language, fence + "\nx\n" + fence, "\nx", kTook});
      check({language, "\n" + fence + "code\nx\n" + fence + "\n", "\n\nx", kTook});
      check({language, "  " + fence + "\n  x\n  " + fence, "\nx", kTook});
      check({language, fence + "\nx", "\nx", kTook});
      check({language, fence + "\nx\n" + fence + "\nIt answers 2.", "\nx", kTook + "; left out: `It answers 2.`"});
      check({language, "Here is the code:\n\n" + fence + "\nx\n" + fence, "\n\n\nx",
             kTook + "; left out: `Here is the code:`"});
      check({language, "Use `x` here:\n" + fence + "\nx\n" + fence, "\n\nx", kTook + "; left out: `Use `x` here:`"});
      check({language, "# Code\n" + fence + "\nx\n" + fence, "\n\nx", kTook + "; left out: `# Code`"});
      check({language, "x\n" + fence, "x", "left out the fence behind the code"});
    }
  }
  check({kPython, "```python\nx = 1\n```\nand then\n```python\nx + 1\n```", "\nx = 1\n\n\n\nx + 1",
         kTook + "; left out: `and then`"});
  check({kShell, "```bash\nls\n```\nprints\n```\na.txt\n```", "\nls", kTook + "; left out: `prints`, `a.txt`"});
  check({kShell, "```\nls\n```\nprints\n```\nrm -r x\n```", "\nls", kTook + "; left out: `prints`, `rm -r x`"});
  check({kPython, "```bash\nls\n```\n```python\n1\n```", "\n\n\n\n1", kTook + "; left out: ````bash`, `ls`"});
  check({kScript, "```ts\nlet x: number\n```", "\nlet x: number", kTook});
  CHECK(read_sent_code("```ts\nlet x: number\n```", kScript)->is_typescript);
  CHECK_FALSE(read_sent_code("```js\nlet x\n```", kScript)->is_typescript);
}

TEST_CASE("a fence in a text of the program between fences is the text's", "[executions]") {
  check({kPython, "```python\na = '''\n```\n'''\na\n```", "\na = '''\n```\n'''\na", kTook});
  check({kPython, "````python\na = '''\n```\n'''\na\n````", "\na = '''\n```\n'''\na", kTook});
  check({kShell, "```bash\ncat > README.md <<'EOF'\n```\nmake\n```\nEOF\nls\n```",
         "\ncat > README.md <<'EOF'\n```\nmake\n```\nEOF\nls", kTook});
  check({kShell, "```sh\ncat <<-X\n\t```\n\tX\n```", "\ncat <<-X\n\t```\n\tX", kTook});
  check({kScript, "```js\n/*\n```\nx\n```\n*/\n1\n```", "\n/*\n```\nx\n```\n*/\n1", kTook});
}

TEST_CASE("a fence that is a part of a program stays", "[executions]") {
  for (const Case& item :
       std::vector<Case>{{kPython, "a = \"\"\"\n```python\nprint(1)\n```\n\"\"\"\nprint((1)", {}, {}},
                         {kPython, "a = '\\\n```python\nprint(1)\n```", {}, {}},
                         {kPython, "x = 1\n```python\nprint(1)\n```", {}, {}},
                         {kPython, "def f():\n    \"\"\"Use:\n```\n```\n    \"\"\"", {}, {}},
                         {kPython, "import os\n```python\n1\n```", {}, {}},
                         {kPython, "else:\n```python\n1\n```", {}, {}},
                         {kScript, "/* Use:\n```js\nf()\n```\n*/\n1", {}, {}},
                         {kScript, "const a = `\n```\nb`\n", {}, {}},
                         {kShell, "cat > README.md <<'EOF'\nUse it:\n```bash\nmake\n```\nEOF", {}, {}},
                         {kShell, "echo '\n```\nx\n```\n'", {}, {}},
                         {kShell, "# don't\necho '\n```\nx\n```\n'", {}, {}},
                         {kShell, "x=`date`\necho `date`", {}, {}}})
    check({item.language, item.sent, item.sent, ""});
}

TEST_CASE("a fence of another language is an error that says which one to call", "[executions]") {
  for (const auto& [language, sent, remedy] : std::vector<std::tuple<Language, std::string, std::string>>{
           {kPython, "```bash\nls\n```", "language=\"shell\""},
           {kPython, "```js\n1\n```", "language=\"javascript\""},
           {kPython, "```ts\n1\n```", "language=\"typescript\""},
           {kShell, "```python\nimport os\n```", "language=\"python\""},
           {kShell, "Here it is:\n```javascript\n1\n```", "language=\"javascript\""},
           {kScript, "```py\n1\n```", "language=\"python\""},
           {kTyped, "```console\nls\n```", "language=\"shell\""},
           {kShell, "```json\n{}\n```", "without fences"},
           {kShell, "cat notes.\n```bash\nmake\n```", "without fences"},
           {kShell, "Run=1; echo:\n```bash\nmake\n```", "without fences"},
           {kShell, "#!/bin/bash\n```bash\nmake\n```", "without fences"},
           {kShell, "ls\n  ```\n  cat list.txt\n  ```", "without fences"},
           {kPython, "```python\n\n```", "without fences"},
           {kScript, ">>> x = 1", "language=\"python\""},
           {kShell, "In [1]: x = 1", "language=\"python\""},
           {kShell, R"x({"code": "print(1)", "language": "python"})x", "language=\"python\""},
           {kShell, "<python>\nprint(1)\n</python>", "language=\"python\""}}) {
    CAPTURE(sent);
    const auto read = read_sent_code(sent, language);
    REQUIRE_FALSE(read);
    CHECK(read.error().code == Code::invalid);
    CHECK(read.error().hint.find(remedy) != std::string::npos);
  }
}

TEST_CASE("line ends of Windows become plain ones, and a shell is told", "[executions]") {
  check({kPython, "x = 1\r\nx\r\n", "x = 1\nx\n", ""});
  check({kScript, "1\r\n2", "1\n2", ""});
  check({kShell, "echo 1 > r.txt\r\necho 2\r\n", "echo 1 > r.txt\necho 2\n",
         "the code had line ends of Windows: left out the carriage return of 2 lines, in here-documents, too; printf "
         "'\\r\\n' writes one"});
  check({kShell, "printf 'a\rb'", "printf 'a\rb'", ""});
  check({kPython, "```\r\nx\r\n```\r\n", "\nx", kTook});
}

TEST_CASE("what is around a program is left out, and the answer says so", "[executions]") {
  const std::string json = "took `code` out of the object of JSON that was sent as code";
  for (const Language language : jail::kLanguages) {
    check({language, "\xef\xbb\xbfx = 1", "x = 1", "left out the byte order mark before the code"});
    check({language, R"({"code": "x = 1\nx"})", "x = 1\nx", json});
    check({language, R"({"code": "x = 1", "timeout_seconds": 5})", "x = 1", json + "; left out: `timeout_seconds`"});
    check({language, R"({"code": "```\nx = 1\n```"})", "\nx = 1", json + " | " + kTook});
    check({language, "<code>\nx\n</code>", "x\n", "left out the tags <code> around the code"});
    check(
        {language, "<pre><code class=\"a\">x</code></pre>", "x", "left out the tags <pre> and <code> around the code"});
    check({language, "1: x\n2: y\n3:\n4:   z", "x\ny\n\n  z", "left out the line numbers 1 to 4"});
    check({language, "1: x=5", "x=5", "left out the line number 1"});
    check({language, "    12\tx\n    13\t  y", "x\n  y", "left out the line numbers 12 to 13"});
    check({language, "9| x\n10| y", "x\ny", "left out the line numbers 9 to 10"});
  }
  check({kShell, "```bash\n$ ls\na.txt\n```", "\nls",
         kTook + " | took only the commands after the prompt $; left out: `a.txt`"});
}

TEST_CASE("values and programs that look like wrappers stay", "[executions]") {
  for (const std::string sent :
       {R"({"code": "US"})", R"({"code": 1})", R"({"code": "a b", "more": 1})", R"({"a": 1})", "{'code': 1}",
        "1: x\n3: y", "1|2", "1: x\ny", "<code>x", "<other>\nx\n</other>", "1", "x", ""})
    for (const Language language : jail::kLanguages) check({language, sent, sent, ""});
}

TEST_CASE("prompts show which lines are code, and the output is left out", "[executions]") {
  const std::string shell = "took only the commands after the prompt $",
                    python = "took only the lines after >>> and ...",
                    cells = "took only the code after In [ ]:", node = "took only the lines after the prompt >";
  check({kShell, "$ ls -la\ntotal 0\n$ pwd", "ls -la\n\npwd", shell + "; left out: `total 0`"});
  check({kShell, "ada@host:~/x$ ls\na\nada@host:~/x$ pwd", "ls\n\npwd", shell + "; left out: `a`"});
  check({kShell, "(venv) ada@host:~$ ls", "ls", shell});
  check({kShell, "$ for i in 1 2; do\n>   echo $i\n> done\n1\n2", "for i in 1 2; do\n  echo $i\ndone",
         shell + "; left out: `1`, `2`"});
  check({kShell, "$ cat > f <<EOF\nhello\nEOF\n$ echo a \\\nb\nout", "cat > f <<EOF\nhello\nEOF\necho a \\\nb",
         shell + "; left out: `out`"});
  check({kPython, ">>> def f():\n...     return 2\n...\n>>> f()\n2", "def f():\n    return 2\n\nf()",
         python + "; left out: `2`"});
  check({kPython, "In [1]: x = 1\n   ...: y = 2\nOut[1]: 5\nIn [2]: x", "x = 1\ny = 2\n\nx",
         cells + "; left out: `Out[1]: 5`"});
  check({kPython, "In [1]:\nx = 1\nx\nOut[1]:\n1", "\nx = 1\nx", cells + "; left out: `Out[1]:`, `1`"});
  check({kScript, "> const x = 1\nundefined\n> x\n1", "const x = 1\n\nx", node + "; left out: `undefined`, `1`"});
  for (const Case& item : std::vector<Case>{{kShell, "> empty.txt", {}, {}},
                                            {kShell, "git clone git@example.com:a/b # mine", {}, {}},
                                            {kShell, "echo $ x", {}, {}},
                                            {kScript, "$ = 5", {}, {}},
                                            {kPython, "def f():\n    \"\"\"\n    >>> 1\n    \"\"\"", {}, {}},
                                            {kPython, "Indices = 1", {}, {}}})
    check({item.language, item.sent, item.sent, ""});
}

TEST_CASE("indentation that all lines share is removed where it has a meaning", "[executions]") {
  const std::string note = "the indentation that all lines share was removed";
  check({kPython, "    x = 1\n    if x:\n        x = 2\n\n    x", "x = 1\nif x:\n    x = 2\n\nx", ""});
  check({kPython, "    x = '''\n    a'''\n    x", "x = '''\na'''\nx", note});
  check({kPython, "    x = '''\na'''", "    x = '''\na'''", ""});
  check({kPython, "  x\n y", " x\ny", ""});
  check({kShell, "    cat <<EOF\n    a\n    EOF", "cat <<EOF\na\nEOF", note});
  check({kShell, "    echo '\n    a'", "    echo '\n    a'", ""});
  check({kScript, "    `\n    a`", "    `\n    a`", ""});
}

TEST_CASE("a text of a million lines of fences, numbers or prompts is read once", "[executions]") {
  const auto repeated = [](const std::string& part) {
    std::string all;
    while (all.size() < 1 << 20) all += part;
    return all;
  };
  for (const std::string& text :
       {"```python\na = '''\n" + repeated("```\n"), "```bash\ncat <<a\n" + repeated("```\n"), repeated("1: x\n"),
        "$ " + repeated("<<a "), repeated("~~~\n~~~x\n"), "Text.\n" + repeated("`a` b.\n") + "```\n1\n```",
        "```js\n" + repeated("/*\n```\n"), repeated("\r\n") + "x", repeated("    x\n"), "{\"code\": " + repeated("[")})
    for (const Language language : jail::kLanguages) (void)read_sent_code(text, language);
}
