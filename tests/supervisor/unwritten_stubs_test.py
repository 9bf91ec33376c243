#!/usr/bin/env python3
"""Stubs of a large catalogue while its files are not written, or in a jail that is older than they are: imported all the same."""
import json
import pathlib
import shutil
import tempfile
import unittest

from harness import Client, Daemon, eventually

SERVERS, TOOLS = 30, 200
LAST = f"tool_{TOOLS - 1}"
LISTED = {"python": "import os\nos.listdir('/servers')", "javascript": "require('fs').readdirSync('/servers')"}
IMPORTS = {
    "python": [f"from servers.office7 import {LAST}\n{LAST}.__name__", f"import servers.office7 as s\ns.{LAST}.__name__",
               f"from servers.office7.{LAST} import {LAST}\n{LAST}.__name__"],
    "javascript": [f"const {{{LAST}}} = require('servers/office8');\n{LAST}.name", f"import {{{LAST}}} from 'servers/office9'\n{LAST}.name",
                   f"import * as s from 'servers/office10'\ns.{LAST}.name", f"(await import('servers/office11')).{LAST}.name",
                   f"require('servers/office12/{LAST}').name"]}


class UnwrittenStubs(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="warder-test-catalog-"))
        self.folder.chmod(0o755)
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def write(self):
        for server in range(SERVERS):
            tools = [{"name": f"tool_{n}", "description": f"Does {n}", "inputSchema": {"type": "object"}} for n in range(TOOLS)]
            whole = self.folder / f"office{server}.new"
            whole.write_text(json.dumps({"tools": tools}))
            whole.rename(self.folder / f"office{server}.json")

    def test_a_jail_that_is_older_than_the_catalogue_imports_every_tool(self):
        """A session's jail sees the files of when it began: none."""
        with Daemon(arguments=["--catalog", self.folder]) as daemon, Client(daemon.socket) as client:
            for language, code in LISTED.items():
                self.assertNotIn("office7", client.execute(code, language=language, session=language)["result"])
            self.write()
            eventually(lambda: client.call("search_tools", {"query": f"office{SERVERS - 1}__{LAST}"}).get("structuredContent", {})
                       .get("tools"), "the whole catalogue")
            for language, all_imports in IMPORTS.items():
                self.assertNotIn("office7", client.execute(LISTED[language], language=language, session=language)["result"])
                for code in all_imports:
                    with self.subTest(code=code):
                        body = client.execute(code, language=language, session=language)
                        self.assertEqual(body.get("result"), LAST, body)
            error = client.execute("from servers.ofice7 import tool_1", session="python")["error"]
            self.assertIn("the nearest server is office7", error)
            error = client.execute("require('servers/office7').tol_199()", language="javascript", session="javascript")["error"]
            self.assertIn(f"server 'office7' has no tool 'tol_199' (did you mean '{LAST}'?)", error)

    def test_from_the_first_moment_of_a_daemon_every_tool_is_imported(self):
        self.write()
        with Daemon(arguments=["--catalog", self.folder]) as daemon, Client(daemon.socket) as client:
            for language, all_imports in IMPORTS.items():
                body = client.execute(all_imports[0], language=language)
                self.assertEqual(body.get("result"), LAST, body)


if __name__ == "__main__":
    unittest.main(verbosity=2)
