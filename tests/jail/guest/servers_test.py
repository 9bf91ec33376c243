"""Stubs that are in no file yet, as the runners find them: asked for from the supervisor when they are imported."""
import unittest

from driver import GuestTest
from sessions import SessionTest

# What the catalogue would write (catalog/stubs.h). `tickets` has a tool of two functions.
PYTHON = {
    "__init__.py": "import types\nimport warder\ndef call(server, tool, arguments):\n"
                   "    return warder.call('call_tool', server=server, name=tool, arguments=arguments)\n"
                   "class Server(types.ModuleType):\n    def __setattr__(self, name, value):\n"
                   "        super().__setattr__(name, getattr(value, name, value))\n",
    "github/__init__.py": "import sys\nfrom servers import Server\n__all__ = ['create_issue']\n"
                          "sys.modules[__name__].__class__ = Server\n",
    "github/create_issue.py": "from servers import call as _call\ndef create_issue(title):\n"
                              "    return _call('github', 'create_issue', {'title': title})\n"}
JAVASCRIPT = {
    "call.js": "exports.call = (server, tool, input) => globalThis.warder.call('call_tool', {server, name: tool, arguments: input});\n",
    "github/index.js": "'use strict';\nconst {call} = require('../call.js');\n"
                       "async function create_issue(input = {}) { return call(\"github\", \"create_issue\", input); }\n"
                       "const tickets = require('./tickets.js');\n\nmodule.exports = {create_issue, tickets};\n",
    "github/create_issue.js": "'use strict';\nconst {call} = require('../call.js');\n\n"
                              "async function create_issue(input = {}) {\n  return call(\"github\", \"create_issue\", input);\n}\n\n"
                              "module.exports = create_issue;\n",
    "github/newer.js": "module.exports = async () => 'newer';\n",
    "github/tickets.js": "module.exports = {open: async () => 'opened', close: async () => 'closed'};\n"}
FILES = {**PYTHON, **JAVASCRIPT}
NEAR = {"server": "github", "servers": ["github", "my-files"],
        "tools": [{"name": "create_issue", "mcp_server": "github"}, {"name": "list-issues", "mcp_server": "github"}]}


def supervisor(call):
    """The daemon's side."""
    name, arguments = call["name"], call["arguments"]
    if name == "nearest_tools":
        far = arguments["server"] == "qqq"
        answer = {"result": {**NEAR, "server": None, "tools": []} if far else NEAR}
    elif name == "stub_file" and arguments["path"] in FILES:
        answer = {"result": {"content": FILES[arguments["path"]]}}
    elif name == "call_tool":
        answer = {"result": arguments}
    else:
        answer = {"error": {"code": "not_found", "message": f"there is no {arguments}"}}
    return [{"type": "reply", "id": call["id"], **answer}]


class Asking(GuestTest):
    CALLED = {"server": "github", "name": "create_issue", "arguments": {"title": "x"}}

    def asked(self, end):
        return [call["arguments"]["path"] for call in end.calls if call["name"] == "stub_file"]

    def error_of(self, code):
        return self.run_code(code, answer=supervisor).error


class Python(Asking):
    language = "python"

    def test_a_stub_that_is_in_no_file_is_asked_for(self):
        for code in ("from servers.github import create_issue\ncreate_issue(title='x')",
                     "from servers.github.create_issue import create_issue\ncreate_issue(title='x')"):
            end = self.run_code(code, answer=supervisor)
            self.assertEqual((end.error, end.value), (None, self.CALLED))
            self.assertEqual(self.asked(end), ["__init__.py", "github/__init__.py", "github/create_issue.py"])

    def test_who_imports_none_asks_for_nothing(self):
        end = self.run_code("import sys\n[name for name in sys.modules if 'stubs' in name]", answer=supervisor)
        self.assertEqual((end.value, end.calls), ([], []))

    def test_a_server_or_tool_that_nobody_has_is_told_with_the_nearest(self):
        for code in ("from servers.gitub import create_issue", "import servers.gitub", "import servers\nservers.gitub.create_issue()"):
            self.assertIn("the nearest server is github: from servers.github import create_issue", self.error_of(code))
        for code in ("from servers.github import creat_issue", "import servers.github\nservers.github.creat_issue()",
                     "import servers.github as g\ng.creat_issue()", "from servers.github.creat_issue import x"):
            self.assertIn("the nearest tools of github are create_issue, list_issues: from servers.github import create_issue",
                          self.error_of(code), code)
        self.assertIn("the servers are github, my_files", self.error_of("import servers.qqq"))

    def test_a_supervisor_that_knows_nothing_does_not_change_the_error(self):
        refuse = lambda call: [{"type": "reply", "id": call["id"], "error": {"code": "not_found", "message": "no"}}]
        error = self.run_code("from servers.github import x", answer=refuse).error
        self.assertEqual(error, "ModuleNotFoundError: No module named 'servers' (no upstream tools are known here)")


class JavaScript(Asking):
    language = "javascript"
    IMPORTS = ("const {create_issue} = require('servers/github'); await create_issue({title: 'x'})",
               "const {create_issue} = require('/servers/github/index.js'); await create_issue({title: 'x'})",
               "import {create_issue} from 'servers/github'\nawait create_issue({title: 'x'})",
               "import github from 'servers/github'\nawait github.create_issue({title: 'x'})",
               "import * as github from './servers/github'\nawait github.create_issue({title: 'x'})",
               "const {create_issue} = await import('/servers/github')\nawait create_issue({title: 'x'})",
               "const github = await import('servers/github')\nawait github.default.create_issue({title: 'x'})",
               "await (await import('servers/github')).create_issue({title: 'x'})")

    def test_a_stub_that_is_in_no_file_is_asked_for(self):
        for code in self.IMPORTS:
            with self.subTest(code=code):
                end = self.run_code(code, answer=supervisor)
                self.assertEqual((end.error, end.value), (None, self.CALLED))
                self.assertEqual(self.asked(end), ["github/index.js", "call.js", "github/tickets.js"])
        for code in ("await require('servers/github/create_issue')({title: 'x'})",
                     "import create_issue from 'servers/github/create-issue.js'\nawait create_issue({title: 'x'})"):
            end = self.run_code(code, answer=supervisor)
            self.assertEqual((end.error, end.value), (None, self.CALLED))
            self.assertEqual(self.asked(end), ["github/create_issue.js", "call.js"])

    def test_modules_of_the_workspace_find_it_and_it_is_asked_for_once(self):
        self.write("lib.js", "exports.make = (title) => require('servers/github').create_issue({title})")
        end = self.run_code("const {make} = require('./lib.js'); require('servers/github') === require('/servers/github') "
                            "&& await make('x')", answer=supervisor)
        self.assertEqual((end.error, end.value), (None, self.CALLED))
        self.assertEqual(len(self.asked(end)), 3)

    def test_who_requires_none_asks_for_nothing_and_loads_nothing(self):
        end = self.run_code("require('zlib'); Object.keys(require.cache).filter((m) => /\\/(servers|sources)\\.js$/.test(m)).length",
                            answer=supervisor)
        self.assertEqual((end.value, end.calls), (0, []))

    def test_a_tool_that_is_newer_than_the_servers_list_is_imported(self):
        self.assertEqual(self.run_code("import {newer, create_issue} from 'servers/github'\n[await newer(), typeof create_issue]",
                                       answer=supervisor).value, ["newer", "function"])

    def test_files_of_the_workspace_come_first(self):
        self.write("servers/github.js", "exports.create_issue = async () => 'own'")
        end = self.run_code("await require('servers/github').create_issue()", answer=supervisor)
        self.assertEqual((end.value, end.calls), ("own", []))

    def test_a_server_or_tool_that_nobody_has_is_told_with_the_nearest(self):
        for code in ("require('servers/gitub')", "import x from 'servers/gitub'", "await import('servers/gitub/create_issue')"):
            self.assertIn("there is no server 'gitub' (did you mean 'github'?); there are: github, my-files", self.error_of(code))
        for code in ("import {creat_issue} from 'servers/github'", "require('servers/github/creat_issue')",
                     "const {creat_issue} = require('servers/github'); creat_issue()",
                     "const {\n  creat_issue,\n} = require('servers/github');\nawait creat_issue({})",
                     "import * as github from 'servers/github'\ngithub.creat_issue()", "require('servers/github').creat_issue()",
                     "(await import('servers/github')).creat_issue()"):
            self.assertIn("server 'github' has no tool 'creat_issue' (did you mean 'create_issue'?); the nearest are: "
                          "create_issue, list_issues", self.error_of(code) or "", code)
        self.assertIn("no server 'qqq'; there are: github, my-files", self.error_of("require('servers/qqq')"))
        self.assertIn("write servers/NAME; there are: github", self.error_of("require('servers')"))

    def test_other_functions_that_are_none_are_not_taken_for_tools(self):
        code = "const {create_issue} = require('servers/github'); const o = {}; o.map()"
        self.assertEqual(self.error_of(code), "TypeError: o.map is not a function")
        self.assertEqual(self.error_of("const o = {}; o.creat_issue()"), "TypeError: o.creat_issue is not a function")

    def test_a_supervisor_that_knows_nothing_says_that_nobody_has_tools(self):
        refuse = lambda call: [{"type": "reply", "id": call["id"], "error": {"code": "not_found", "message": "no"}}]
        self.assertIn("there is no module 'servers/github': no upstream server has tools",
                      self.run_code("require('servers/github')", answer=refuse).error)


class TypeScript(Asking):
    language = "typescript"

    def test_a_stub_that_is_in_no_file_is_asked_for(self):
        end = self.run_code("import {create_issue} from 'servers/github'\nconst title: string = 'x'\nawait create_issue({title})",
                            answer=supervisor)
        self.assertEqual((end.error, end.value), (None, self.CALLED))
        self.write("lib.ts", "import {create_issue} from 'servers/github'\nexport const make = (title: string) => create_issue({title})")
        self.assertEqual(self.run_code("import {make} from './lib'\nawait make('x')", answer=supervisor).value, self.CALLED)


class Sessions(SessionTest):
    language = "javascript"

    def test_a_function_that_an_earlier_order_imported_is_told_with_the_nearest(self):
        self.ask("import * as github from 'servers/github'", supervisor)
        self.assertIn("has no tool 'creat_issue' (did you mean 'create_issue'?)", self.ask("github.creat_issue()", supervisor)["error"])
        self.assertEqual(self.ask("await github.create_issue({title: 'x'})", supervisor)["value"], Asking.CALLED)


if __name__ == "__main__":
    unittest.main()
