// The stubs are judged by the languages themselves: imported, called, and attacked by their definitions.
#include "catalog/stubs.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <set>

#include "tests/catalog/library.h"

namespace fs = std::filesystem;

namespace {

struct Stubs : Library {
  TempDirectory tree;

  void write() {
    load();
    for (const auto& file : catalog::make_stubs(produced)) {
      fs::create_directories((tree.path() / file.path).parent_path());
      std::ofstream(tree.path() / file.path, std::ios::binary) << file.content;
    }
    fs::create_directories(tree.path() / "warder");
    std::ofstream(tree.path() / "warder/__init__.py")
        << "import json\ndef _tool(asked): return json.dumps(['call_tool', asked], sort_keys=True)\n";
  }
  std::string text(const std::string& path) const {
    std::ostringstream all;
    all << std::ifstream(tree.path() / path).rdbuf();
    return all.str();
  }
  // What a program prints; both streams.
  std::string run(const std::vector<std::string>& command) const {
    int pipe[2];
    REQUIRE(::pipe(pipe) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
      ::dup2(pipe[1], 1);
      ::dup2(pipe[1], 2);
      ::close(pipe[0]);
      if (::chdir(tree.path().c_str()) != 0) ::_exit(126);
      std::vector<char*> arguments;
      for (const auto& part : command) arguments.push_back(const_cast<char*>(part.c_str()));
      arguments.push_back(nullptr);
      ::execvp(arguments[0], arguments.data());
      ::_exit(127);
    }
    ::close(pipe[1]);
    std::string all;
    char block[4096];
    for (ssize_t n; (n = ::read(pipe[0], block, sizeof block)) > 0;) all.append(block, static_cast<size_t>(n));
    ::close(pipe[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    INFO(all);
    CHECK(status == 0);
    return all;
  }
  std::string python(const std::string& code) const {
    return run({"/usr/bin/python3", "-B", "-c", "import sys; sys.path.insert(0, '.')\n" + code});
  }
  std::string node(const std::string& code) const {
    return run({"node", "-e",
                "globalThis.warder = {call_tool: async (name, input, server) => "
                "JSON.stringify(['call_tool', {server, name, arguments: input}])};\n(async () => {" +
                    code + "})()"});
  }
};

const char* const kIssues = R"({"server": "git-hub", "tools": [
  {"name": "create-issue", "description": "Opens an issue.\nSays \"where\".",
   "inputSchema": {"type": "object", "required": ["title", "from"], "properties": {
     "title": {"type": "string", "description": "what it is about"}, "from": {"type": "string"},
     "labels": {"type": "array", "items": {"type": "string"}, "default": []}, "state": {"enum": ["open", "closed"]}}},
   "outputSchema": {"type": "object", "required": ["number"], "properties": {"number": {"type": "integer"},
     "people": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}}}}},
  {"name": "delete", "inputSchema": {"type": "object"}},
  {"name": "anything"}]})";

}  // namespace

TEST_CASE("Python code lists, reads and imports the stubs, and calls through them", "[stubs]") {
  Stubs stubs;
  stubs.put("a.json", kIssues);
  stubs.write();
  CHECK(
      stubs.python("from servers.git_hub import create_issue\n"
                   "print(create_issue('T', from_='me', labels=['a']))") ==
      R"(["call_tool", {"arguments": {"from": "me", "labels": ["a"], "title": "T"}, "name": "create-issue", "server": "git-hub"}])"
      "\n");
  CHECK(stubs.python("import servers.git_hub.create_issue as f, servers.git_hub as s\nfrom servers.git_hub import *\n"
                     "print(f is s.create_issue is create_issue, s.__all__)\nprint(delete_())") ==
        "True ['anything', 'create_issue', 'delete_']\n"
        R"(["call_tool", {"arguments": {}, "name": "delete", "server": "git-hub"}])"
        "\n");
  CHECK_THAT(stubs.python("from servers.git_hub import anything\nprint(anything(x=1))"),
             Catch::Contains(R"({"x": 1})"));
  const auto help = stubs.python(
      "from servers.git_hub import create_issue\nimport inspect, typing\n"
      "print(inspect.signature(create_issue))\nprint(create_issue.__doc__)\n"
      "print(typing.get_type_hints(create_issue))");
  CHECK_THAT(help, Catch::Contains("title: 'str', from_: 'str', *, labels: 'list[str]' = Ellipsis") &&
                       Catch::Contains("Says \"where\".") && Catch::Contains("title: what it is about") &&
                       Catch::Contains("(default: [])") && Catch::Contains("Literal['open', 'closed']"));
}

TEST_CASE("Tools with an open schema take any argument, and each argument by its own name", "[stubs]") {
  Stubs stubs;
  stubs.put("a.json", R"({"server": "open", "tools": [
    {"name": "more", "inputSchema": {"type": "object", "required": ["a"], "properties": {"a": {}, "more": {}},
                                     "additionalProperties": true}},
    {"name": "schema", "inputSchema": {"type": "object", "additionalProperties": {"type": "string"}}},
    {"name": "pattern", "inputSchema": {"type": "object", "properties": {"a": {}}, "patternProperties": {"^x-": {}},
                                        "additionalProperties": false}},
    {"name": "alone", "inputSchema": {"type": "object"}},
    {"name": "nothing", "inputSchema": {"type": "object", "properties": {}}},
    {"name": "shut", "inputSchema": {"type": "object", "additionalProperties": false}},
    {"name": "spelt", "inputSchema": {"type": "object", "required": ["user-id"],
                                      "properties": {"user-id": {}, "from": {}, "plain": {}}}}]})");
  stubs.write();
  const auto called = stubs.python(R"py(from servers.open import more, schema, pattern, alone, nothing, shut, spelt
import inspect, json
for call in (lambda: more(1, b=2), lambda: more(a=1, more=3), lambda: schema(**{"user-id": 1}), lambda: pattern(**{"x-y": 1}),
             lambda: alone(b=1), lambda: nothing(b=1), lambda: shut(b=1), lambda: spelt(**{"user-id": 1}, from_=2),
             lambda: spelt(1, **{"from": 3}), lambda: spelt(user_id=1, plain=4), lambda: spelt(**{"user-id": 1}, user_id=1),
             lambda: spelt(**{"user-id": 1}, other=1), lambda: spelt()):
    try:
        print(json.dumps(json.loads(call())[1]["arguments"]))
    except TypeError as error:
        print(str(error)[:40])
print(inspect.signature(spelt), spelt.__name__))py");
  CHECK(called ==
        "{\"a\": 1, \"b\": 2}\n{\"a\": 1, \"more\": 3}\n{\"user-id\": 1}\n{\"x-y\": 1}\n{\"b\": 1}\n"
        "nothing() got an unexpected keyword argu\nshut() got an unexpected keyword argumen\n"
        "{\"from\": 2, \"user-id\": 1}\n{\"from\": 3, \"user-id\": 1}\n{\"plain\": 4, \"user-id\": 1}\n"
        "spelt() got 'user-id' and 'user_id', whi\nspelt() got an unexpected keyword argume\n"
        "spelt() missing 1 required positional ar\n"
        "(user_id: 'Any', *, from_: 'Any' = Ellipsis, plain: 'Any' = Ellipsis) -> 'Any' spelt\n");
}

TEST_CASE("Python code may import a server, or all of them, as a module, and use its tools as attributes", "[stubs]") {
  Stubs stubs;
  stubs.put("a.json", kIssues);
  stubs.write();
  const std::string text =
      R"(["call_tool", {"arguments": {"from": "me", "title": "T"}, "name": "create-issue", "server": "git-hub"}])"
      "\n";
  for (const char* code : {"import servers.git_hub as g\nprint(g.create_issue('T', 'me'))",
                           "import servers.git_hub\nprint(servers.git_hub.create_issue(title='T', from_='me'))",
                           "import servers\nprint(servers.git_hub.create_issue('T', 'me'))",
                           "from servers import git_hub\nprint(git_hub.create_issue('T', 'me'))"}) {
    CAPTURE(code);
    CHECK(stubs.python(code) == text);
  }
  CHECK(stubs.python("import servers, servers.git_hub as g\nprint('git_hub' in dir(servers), 'anything' in dir(g))") ==
        "True True\n");
  for (const char* code : {"import servers\nservers.nothing", "import servers.git_hub as g\ng.nothing",
                           "from servers.git_hub import nothing", "from servers import nothing"}) {
    CAPTURE(code);
    CHECK_THAT(stubs.python("try:\n  exec(" + Json(code).dump() +
                            ")\nexcept (AttributeError, ImportError) as e: print('refused', e)"),
               Catch::StartsWith("refused") && Catch::Contains("nothing"));
  }
}

TEST_CASE("a Python stub's parameters have the names that the signature shows", "[stubs]") {
  Stubs stubs;
  stubs.put("a.json", R"({"server": "db", "tools": [{"name": "query", "inputSchema": {"type": "object",
    "required": ["query", "from", "type", "a-b", "a b", "call", "_id"], "properties": {"query": {"type": "string"},
    "from": {"type": "string"}, "type": {"type": "string"}, "a-b": {"type": "integer"}, "a b": {"type": "integer"},
    "call": {"type": "integer"}, "_id": {"type": "integer"}}}}]})");
  stubs.write();
  CHECK_THAT(stubs.text("servers/db/query.py"),
             Catch::Contains("query(query: str, from_: str, type: str, a_b: int, a_b_2: int, call: int, _id: int)"));
  CHECK(stubs.python("from servers.db import query\n"
                     "print(query(query='q', from_='f', type='t', a_b=1, a_b_2=2, call=3, _id=4))") ==
        R"(["call_tool", {"arguments": {"_id": 4, "a b": 2, "a-b": 1, "call": 3, "from": "f", "query": "q", )"
        R"("type": "t"}, "name": "query", "server": "db"}])"
        "\n");
}

TEST_CASE("JavaScript code requires the stubs, and calls through them", "[stubs]") {
  Stubs stubs;
  stubs.put("a.json", kIssues);
  stubs.write();
  CHECK(stubs.node("const {create_issue, delete_} = require('./servers/git_hub');\n"
                   "console.log(await create_issue({title: 'T', from: 'me'}), await delete_())") ==
        R"(["call_tool",{"server":"git-hub","name":"create-issue","arguments":{"title":"T","from":"me"}}] )"
        R"(["call_tool",{"server":"git-hub","name":"delete","arguments":{}}])"
        "\n");
  CHECK_THAT(stubs.text("servers/git_hub/create_issue.js"),
             Catch::Contains(
                 R"(@param {{title: string, from: string, labels?: string[], state?: "open" | "closed"}} input)") &&
                 Catch::Contains("@returns {Promise<{number: number, people?: {name?: string}[]}>}"));
}

TEST_CASE("node sees the names of a server's tools without running its stubs", "[stubs]") {
  Stubs stubs;
  stubs.put("a.json", kIssues);
  stubs.write();
  CHECK(stubs.node(
            "const all = await import(process.cwd() + '/servers/git_hub/index.js');\n"
            "console.log(Object.keys(all).filter(n => !n.startsWith('module')).sort().join(), await all.delete_())") ==
        R"(anything,create_issue,default,delete_ ["call_tool",{"server":"git-hub","name":"delete","arguments":{}}])"
        "\n");
}

TEST_CASE("TypeScript is told the types of a server's tools", "[stubs]") {
  Stubs stubs;
  stubs.put("a.json", kIssues);
  stubs.write();
  const std::string text = stubs.text("servers/git_hub/index.d.ts");
  CHECK_THAT(
      text, Catch::Contains(" * Opens an issue.\n * Says \"where\".\n") &&
                Catch::Contains("export function create_issue(input: {\n  /** what it is about */\n  title: string;") &&
                Catch::Contains("  /** @default [] */\n  labels?: Array<string>;") &&
                Catch::Contains("  state?: \"open\" | \"closed\";\n}): Promise<{\n  number: number;") &&
                Catch::Contains("export function delete_(input?: Record<string, any>): Promise<any>;"));
}

TEST_CASE("a tool of which only functions are known is a module of them", "[stubs]") {
  Stubs stubs;
  stubs.put("full_catalog.json", R"({"categories": {"security": {"tools": {"dos_detector": {"mcp_server": "mcp_tools",
    "functions": ["analyze_access_log", "report"]}}}}})");
  stubs.write();
  CHECK(stubs.python("from servers.mcp_tools import dos_detector\nprint(dos_detector.analyze_access_log(path='x'))") ==
        R"(["call_tool", {"arguments": {"path": "x"}, "name": "analyze_access_log", "server": "mcp_tools"}])"
        "\n");
  CHECK_THAT(stubs.node("console.log(await require('./servers/mcp_tools').dos_detector.report({a: 1}))"),
             Catch::Contains(R"("name":"report")"));
}

TEST_CASE("no text of a definition gets out of where it stands", "[stubs]") {
  // Each ends a string, a comment, a docstring or a line, and then says something that would be seen.
  const std::vector<std::string> attacks = {R"(""" ; print("ESCAPED") ; """)",
                                            R"(*/ console.log("ESCAPED") /*)",
                                            R"(" + print("ESCAPED") + ")",
                                            R"(\""" ; print("ESCAPED") #)",
                                            "'''\nprint('ESCAPED')\n'''",
                                            "x\r\nprint('ESCAPED')\r\nconsole.log('ESCAPED')",
                                            "\xE2\x80\xA8 console.log('ESCAPED') \xE2\x80\xA9",
                                            "ends with a backslash \\",
                                            "ends with a quote \"",
                                            "\"\"\"\"\"",
                                            "*\n/ console.log('ESCAPED')",
                                            std::string("nul \0 byte", 10),
                                            "${console.log('ESCAPED')}",
                                            "{0} {} %s %(x)s"};
  Stubs stubs;
  Json tools = Json::array();
  for (size_t i = 0; i < attacks.size(); i++) {
    const auto& text = attacks[i];
    std::string name = "t" + std::to_string(i);
    for (char c : text) name += static_cast<unsigned char>(c) <= ' ' || static_cast<unsigned char>(c) >= 0x80 ? '_' : c;
    tools.push_back({{"name", name.substr(0, 100)},
                     {"description", text},
                     {"title", text},
                     {"inputSchema",
                      {{"type", "object"},
                       {"required", {text}},
                       {"properties",
                        {{text, {{"description", text}, {"enum", {text, "x"}}, {"default", text}}},
                         {"second", {{"type", "object"}, {"properties", {{text, {{"type", "string"}}}}}}}}}}},
                     {"outputSchema", {{"properties", {{text, {{"const", text}}}}}}}});
  }
  stubs.put("x.json", Json{{"server", "a\"\"\"*/'); print('ESCAPED"}, {"tools", tools}});
  stubs.write();
  REQUIRE(stubs.produced->size() == attacks.size());
  const std::string server = "a_________print__ESCAPED";
  REQUIRE(fs::exists(stubs.tree.path() / "servers" / server));
  const auto loaded = stubs.python("from servers import " + server +
                                   " as s\nimport importlib, typing\n"
                                   "for n in s.__all__:\n  f = getattr(importlib.import_module(s.__name__), n, None)\n"
                                   "  exec('from servers." +
                                   server +
                                   " import ' + n)\n  typing.get_type_hints(getattr(s, n))\n"
                                   "print(len(s.__all__))");
  CHECK(loaded == std::to_string(attacks.size()) + "\n");
  CHECK(stubs.node("const s = require('./servers/" + server +
                   "'); for (const f of require('fs').readdirSync('./servers/" + server +
                   "')) if (f.endsWith('.js')) require('./servers/" + server +
                   "/' + f); console.log(Object.keys(s).map(n => typeof s[n]).join())") == [&] {
    std::string all = "function";
    for (size_t i = 1; i < attacks.size(); i++) all += ",function";
    return all + "\n";
  }());
  if (fs::exists("/usr/share/nodejs/typescript")) {
    CHECK(stubs.node("const ts = require('/usr/share/nodejs/typescript');\n"
                     "const text = require('fs').readFileSync('./servers/" +
                     server +
                     "/index.d.ts', 'utf8'), tree = ts.createSourceFile('a.d.ts', text, 99);\n"
                     "console.log(tree.parseDiagnostics.length, tree.statements.length)") ==
          "0 " + std::to_string(attacks.size()) + "\n");
  }
}

TEST_CASE("names become identifiers that no other name has", "[stubs]") {
  catalog::UsedNames names;
  auto [name, expected] = GENERATE(table<std::string, std::string>({
      {"create-issue", "create_issue"},
      {"import", "import_"},
      {"await", "await_"},
      {"index", "index_"},
      {"call", "call_"},
      {"__init__", "x__init__"},
      {"2fa", "x2fa"},
      {"", "x"},
      {"\xC3\xA9t\xC3\xA9", "x__t__"},
      {"../../etc/passwd", "x______etc_passwd"},
  }));
  CHECK(catalog::identifier(name, names) == expected);
  CHECK(catalog::identifier(name, names) == expected + "_2");
  CHECK(catalog::identifier(name, names) == expected + "_3");
  CHECK(catalog::identifier(std::string(5000, 'a'), names).size() <= 100);
}

TEST_CASE("skills are no stubs, and tools without a server have a place", "[stubs]") {
  Stubs stubs;
  stubs.put("one.json", R"({"name": "lonely", "description": "d"})");
  stubs.put("skill.json", R"({"name": "skilled", "kind": "skill"})");
  stubs.load();
  Names paths;
  for (const auto& file : catalog::make_stubs(stubs.produced)) paths.push_back(file.path);
  CHECK(paths == Names{"servers/__init__.py", "servers/call.js", "servers/other/__init__.py",
                       "servers/other/index.d.ts", "servers/other/index.js", "servers/other/lonely.js",
                       "servers/other/lonely.py"});
}

TEST_CASE("a stub that is asked for by its path is the file of the tree", "[stubs]") {
  Stubs stubs;
  stubs.put("git hub/tools.json", R"({"tools": [
    {"name": "create-issue", "inputSchema": {"type": "object", "properties": {"title": {"type": "string"}}}},
    {"name": "create_issue"}, {"name": "class", "description": "d"}]})");
  stubs.put("one.json", R"({"name": "lonely"})");
  stubs.load();
  const catalog::StubIndex index(stubs.produced);
  const auto all = catalog::make_stubs(stubs.produced);
  REQUIRE(all.size() == 16);
  for (const auto& file : all) {
    CAPTURE(file.path);
    const auto match = index.file(file.path.substr(std::string("servers/").size()));
    REQUIRE(match);
    CHECK(match->content == file.content);
  }
  for (const char* path :
       {"", "/", "git_hub", "git_hub/", "git_hub/none.py", "git_hub/create_issue", "none/__init__.py", "../__init__.py",
        "git_hub/../one.py", "git_hub/create_issue.txt", "other/create_issue.py"}) {
    CAPTURE(path);
    CHECK_FALSE(index.file(path));
  }
}

TEST_CASE("a server's stubs have as many different names as it has tools, however alike those are", "[stubs]") {
  catalog::UsedNames reserved;
  std::set<std::string> names;
  for (int i = 0; i < 100'000; i++) names.insert(catalog::identifier(i % 2 == 0 ? "a-b" : "a_b_7", reserved));
  CHECK(names.size() == 100'000);
}
