#!/usr/bin/env python3
"""Answers that nothing shows to be wrong: the order of keys, what the workspace's folder has, what a tool's result is."""
import json
import unittest
from shutil import which

from upstream_harness import UpstreamTest
from harness import Client

# A server as FastMCP's library writes it: what a tool returns is wrapped, and so is its schema.
WRAPPING = r"""
import json, sys
WRAPPED = {"type": "object", "x-fastmcp-wrap-result": True, "required": ["result"], "properties": {"result": {}}}
TOOLS = [{"name": name, "inputSchema": {"type": "object"}, **more} for name, more in (
    ("numbers", {"outputSchema": WRAPPED}), ("count", {}), ("said", {}), ("own", {}))]
def result(tool, given):
    if tool == "numbers": return {"content": [{"type": "text", "text": "[3, 1]"}], "structuredContent": {"result": [3, 1]}}
    if tool == "own": return {"content": [], "structuredContent": {"z": 1, "y": {"b": 2, "a": 3}, "given": given}}
    return {"content": [{"type": "text", "text": "42" if tool == "count" else "forty-two"}]}
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked: continue
    params = asked.get("params", {})
    answer = {"initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}},
              "tools/list": {"tools": TOOLS}}.get(asked["method"])
    if asked["method"] == "tools/call": answer = result(params["name"], list(params["arguments"]))
    reply = {"result": answer} if answer else {"error": {"code": -32601, "message": "no such method"}}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **reply}), flush=True)
"""
VALUE = {"z": 1, "b": {"y": 2, "x": 3}, "a": [{"d": 4, "c": 5}], "é": None}


class SilentAnswers(UpstreamTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.shared = cls.enterClassContext(cls.daemon(
            {"fast": {"command": "/usr/bin/python3", "args": ["-c", WRAPPING], "jail": "none"}}))
        cls.client = cls.enterClassContext(Client(cls.shared.socket))

    def result(self, code, language="python", **more):
        body = self.client.execute(code, language=language, **more)
        self.assertTrue(body["success"], body)
        return body.get("result")

    def in_order(self, value, expected):
        self.assertEqual(json.dumps(value), json.dumps(expected))

    def test_results_have_the_order_of_their_keys(self):
        text = json.dumps(VALUE)
        self.in_order(self.result(f"result = __import__('json').loads('{text}')"), VALUE)
        self.in_order(self.result(f"return {text}", "javascript"), VALUE)
        self.in_order(self.result("from collections import Counter\nresult = dict(Counter('mississippi').most_common())"),
                      {"i": 4, "s": 4, "p": 2, "m": 1})

    def test_context_vars_have_the_order_of_their_keys(self):
        context = {"rows": VALUE}
        self.in_order(self.result("import json\nresult = json.dumps(rows)", context_vars=context), json.dumps(VALUE))
        self.in_order(self.result("return JSON.stringify(Object.keys(rows.b))", "javascript", context_vars=context), '["y","x"]')
        self.in_order(self.result("rows", context_vars=context), VALUE)

    def test_arguments_and_results_of_tools_have_the_order_of_their_keys(self):
        expected = {"z": 1, "y": {"b": 2, "a": 3}, "given": ["q", "p"]}
        self.in_order(self.result("import warder\nwarder.call('call_tool', name='fast__own', arguments={'q': 1, 'p': 2})['value']"),
                      expected)
        self.in_order(self.result("return await callMCPTool('fast__own', {q: 1, p: 2})", "javascript"), expected)
        answer = self.client.call("call_tool", {"name": "fast__own", "arguments": {"q": 1, "p": 2}})
        self.in_order(answer["structuredContent"]["result"], expected)

    def test_what_a_library_wrapped_is_unwrapped_and_numbers_arrive_as_numbers(self):
        call = "import warder\nwarder.call('call_tool', name='fast__{}')['value']"
        for tool, value in (("numbers", [3, 1]), ("count", 42), ("said", "forty-two")):
            with self.subTest(tool):
                self.assertEqual(self.result(call.format(tool)), value)
                self.assertEqual(self.client.call("call_tool", {"name": f"fast__{tool}"})["structuredContent"]["result"], value)
        self.await_stubs(self.client, "fast")
        self.assertEqual(self.result("from servers.fast import numbers, count\n[numbers(), count()]"), [[3, 1], 42])

    def test_programs_find_the_workspaces_files_by_its_path(self):
        self.client.write_file("deep/rows.csv", "a,b\n1,2\n")
        for code, line in (("find /workspace -name '*.csv'", "/workspace/deep/rows.csv"),
                           ("ls /workspace | cat", "deep"),
                           ("[ \"$(du -s /workspace | cut -f1)\" -gt 0 ] && echo counted", "counted"),
                           ("tar cf /tmp/w.tar /workspace 2>&1; tar tf /tmp/w.tar | grep csv", "workspace/deep/rows.csv"),
                           ("cp -r /workspace /tmp/copy && cat /tmp/copy/deep/rows.csv | tail -1", "1,2"),
                           ("[ -L /workspace ] || echo folder", "folder")):
            with self.subTest(code=code):
                body = self.client.execute(code, language="shell")
                self.assertIn(line, body["output"], body)
        self.assertEqual(self.result("import subprocess\nsubprocess.run(['find', '/workspace', '-name', '*.csv'], "
                                     "capture_output=True, text=True).stdout"), "/workspace/deep/rows.csv\n")
        if which("node", path="/usr/bin"):
            self.assertEqual(self.result("return require('child_process').execFileSync('find', ['/workspace', '-name', '*.csv'])"
                                         ".toString()", "javascript"), "/workspace/deep/rows.csv\n")


if __name__ == "__main__":
    unittest.main(verbosity=2)
