#!/usr/bin/env python3
"""Calls to other MCP servers, from jailed code and by agents: upstream_server.py is the server."""
import json
import os
import pathlib
import sqlite3
import stat
import tempfile
import unittest

from upstream_harness import UpstreamTest, SharedUpstreamTest, structured
from harness import ROOT, Client, Policies, as_user, eventually

SECRET = "s3cret-and-long-enough"
OTHER_TENANT = 47031
SMALL = """
import json, os, sys
for line in sys.stdin:
    asked = json.loads(line)
    answer = {"initialize": {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}},
              "tools/list": {"tools": [{"name": "keep", "inputSchema": {"type": "object"}}]}}.get(asked["method"])
    if asked["method"] == "tools/call":
        open("kept", "w").close()
        answer = {"content": [{"type": "text", "text": json.dumps(os.listdir("."))}]}
    reply = {"result": answer} if answer else {"error": {"code": -32601, "message": "no such method"}}
    if "id" in asked: print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **reply}), flush=True)
"""
# Its one tool takes a list and answers with the arguments that it was sent.
LISTS = """
import json, sys
schema = {"type": "object", "properties": {"names": {"type": "array", "items": {"type": "string"}}}}
for line in sys.stdin:
    asked = json.loads(line)
    answer = {"initialize": {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}},
              "tools/list": {"tools": [{"name": "name", "inputSchema": schema}]}}.get(asked["method"])
    if asked["method"] == "tools/call":
        answer = {"content": [{"type": "text", "text": json.dumps(asked["params"]["arguments"])}]}
    reply = {"result": answer} if answer else {"error": {"code": -32601, "message": "no such method"}}
    if "id" in asked: print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **reply}), flush=True)
"""


class Observed(UpstreamTest):
    ROWS = "from servers.near import rows\nresult = len(rows(count=3))"
    STUB = "result = open('/servers/near/rows.py').read()"

    def about(self, client):
        return structured(client.call("get_tool_definition", {"tool_name": "near__rows"}))

    def test_types_that_a_tool_does_not_declare_are_learned_from_its_results(self):
        with self.daemon() as daemon, Client(daemon.socket) as client:
            self.await_stubs(client)
            self.assertIn("def rows(*, count: int = ..., width: int = ...) -> Any", client.execute(self.STUB)["result"])
            self.assertEqual(client.execute(self.ROWS)["result"], 3)
            self.assertNotIn("outputSchema", self.about(client))
            client.execute(self.ROWS)
            stub = eventually(lambda: "class " in (text := client.execute(self.STUB)["result"]) and text, "a typed stub")
            self.assertIn("    id: int\n    row: str\n", stub)
            self.assertIn("-> list[rows_resultItem]", stub)
            self.assertIn("Returns: Observed in results; the server declares no schema.", stub)
            self.assertEqual(self.about(client)["outputSchema"]["items"]["required"], ["id", "row"])
            self.assertEqual(client.execute(self.ROWS)["result"], 3)  # the new stub calls, too

    def test_a_server_whose_results_are_not_to_be_told_is_not_observed(self):
        with self.daemon({"near": self.server(observe=False), "far": self.server()}) as daemon, Client(daemon.socket) as client:
            self.await_stubs(client, "near")
            self.await_stubs(client, "far")
            for server in ("near", "near", "near", "far", "far"):
                self.assertEqual(client.execute(self.ROWS.replace("near", server))["result"], 3)
            far = self.STUB.replace("near", "far")
            eventually(lambda: "class " in client.execute(far)["result"], "a typed stub of the other one")
            self.assertNotIn("class ", client.execute(self.STUB)["result"])


class Calls(SharedUpstreamTest):
    def test_a_search_that_led_to_a_call_finds_that_tool_the_next_time(self):
        self.await_stubs(self.client)

        def found(query):
            return [tool["name"] for tool in structured(self.client.call("search_tools", {"query": query}))["tools"]]

        for query, call in (("totting figures", {"code": "from servers.near import add\nresult = add(1, 2)"}),
                            ("parrot whatever came", None)):
            tool = "add" if call else "echo"
            self.assertNotIn(tool, found(query))
            for _ in range(3):
                found(query)
                if call:
                    self.assertEqual(self.client.execute(**call)["result"], {"sum": 3})
                else:
                    self.client.call("call_tool", {"name": "near__echo", "arguments": {"text": "x"}})
            self.assertIn(tool, found(query))

    def test_python_imports_tools_and_gets_native_values(self):
        self.await_stubs(self.client)
        body = self.client.execute(
            "from servers.near import add, echo, rows, picture\nimport warder\n"
            "result = [add(2, 3), echo('hello'), len(rows(count=500)), picture(),\n"
            "          warder.call_tool('near__echo', text='42')]")
        self.assertTrue(body["success"], body)
        added, echoed, rows, picture, text = body["result"]
        self.assertEqual((added, echoed, rows, text), ({"sum": 5}, "hello", 500, 42))  # a text that reads as a number is one
        self.assertEqual([block if isinstance(block, str) else block["type"] for block in picture],
                         ["one pixel", "image", "resource"])
        self.assertEqual(picture[2]["text"], "beside it")

    def test_javascript_calls_tools(self):
        self.await_stubs(self.client)
        body = self.client.execute(
            "const {add} = require('/servers/near');\n"
            "return [await add({a: 1, b: 2}), await callMCPTool('near__echo', {text: 'hi'}),\n"
            "  (await Promise.all([1, 2, 3].map(() => callMCPTool('near.gate', {count: 3})))).length,\n"
            "  await callMCPTool('near__fail').catch((e) => [e.name, e.code, e.message, e.data])]",
            language="javascript")
        self.assertTrue(body["success"], body)
        self.assertEqual(body["result"], [{"sum": 3}, "hi", 3, [
            "CallError", "tool_error", "tool_error: the printer is out of paper", {"paper": 0}]])

    def test_a_server_whose_name_no_import_can_have_is_called_as_imports_spell_it(self):
        with self.daemon({"google-drive": self.server()}) as daemon, Client(daemon.socket) as client:
            self.await_stubs(client, "google_drive")
            for language, code in (
                    ("javascript", "await callMCPTool('google_drive__add', {a: 1, b: 2})"),
                    ("javascript", "await callMCPTool('google-drive__add', {a: 1, b: 2})"),
                    ("javascript", "import {add} from 'servers/google-drive'\nawait add({a: 1, b: 2})"),
                    ("javascript", "import * as drive from 'servers/google_drive'\nawait drive.add({a: 1, b: 2})"),
                    ("typescript", "import {add} from 'servers/google_drive'\nconst input: {a: number} = {a: 1}\n"
                                   "await add({...input, b: 2} as any)"),
                    ("python", "import warder\nwarder.call_tool('google_drive__add', a=1, b=2)")):
                with self.subTest(code=code):
                    self.assertEqual(client.execute(code, language=language).get("result"), {"sum": 3})

    def test_the_shell_calls_tools(self):
        self.await_stubs(self.client)
        body = self.client.execute(
            "warder call near__echo text='two words'\nwarder call near__rows count:=2 --select id\n"
            "warder describe near__add | grep -o 'servers.near import add'\nwarder call near__fail", language="shell")
        self.assertEqual(body["output"], ["two words", '[{"id":0},{"id":1}]', "servers.near import add"], body)
        self.assertEqual((body["exit_status"], body["stderr"]), (1, 'tool_error: the printer is out of paper\n{"paper":0}\n'))

    def test_threads_and_asyncio_call_side_by_side(self):
        # The server answers none before all four have asked.
        body = self.client.execute(
            "import asyncio, warder\nfrom concurrent.futures import ThreadPoolExecutor\n"
            "def one(_=None): return warder.call_tool('near__gate', count=4)\n"
            "with ThreadPoolExecutor(4) as pool: threads = list(pool.map(one, range(4)))\n"
            "both = await asyncio.gather(*[asyncio.to_thread(one) for _ in range(4)])\n"
            "result = [len(set(threads)), len(set(both))]")
        self.assertEqual(body.get("result"), [4, 4], body)

    def test_errors_keep_code_message_and_data(self):
        body = self.client.execute(
            "import warder\nresult = []\n"
            "for name, more in (('near__fail', {}), ('near__refuse', {}), ('near__add', {'a': 1, 'b': 2000}),\n"
            "                   ('near__add', {'a': 'x', 'b': 1}), ('near__nothing', {}), ('far__x', {})):\n"
            "    try: warder.call_tool(name, **more)\n"
            "    except warder.CallError as e: result.append([e.code, e.message, e.data])")
        fail, refuse, large, text, nothing, far = body["result"]
        self.assertEqual(fail, ["tool_error", "the printer is out of paper", {"paper": 0}])
        self.assertEqual(refuse, [-32001, "not today", {"again": "tomorrow"}])
        self.assertEqual(large[:2], ["invalid", "the arguments of 'add' do not match its schema: /b: 2000 is above the maximum of 1000"])
        self.assertIn("/a: \"x\" is not of type number", text[1])
        self.assertEqual((nothing[0], far[0]), ("not_found", "not_found"))
        self.await_stubs(self.client)
        body = self.client.execute("from servers.near import fail\nfail()")
        self.assertEqual(body["error"], "warder.CallError: tool_error: the printer is out of paper")
        self.assertEqual(body["traceback"].count("File "), 1, body["traceback"])

    def test_each_era_of_the_protocol(self):
        servers = {"old": self.server("handshake"), "new": self.server("modern"), "both": self.server()}
        with self.daemon(servers) as daemon, Client(daemon.socket) as client:
            body = client.execute("import warder\nresult = [warder.call_tool(f'{s}__add', a=1, b=1)['sum'] for s in "
                                  "('old', 'new', 'both')]")
            self.assertEqual(body.get("result"), [2, 2, 2], body)
            for server, era in (("old", "by handshake"), ("new", "2026-07-28"), ("both", "2026-07-28")):
                self.assertRegex(daemon.log_text(), f"server {server}: ready in [0-9]+ ms, {era}")

    def test_its_tools_are_found_and_new_ones_are_noticed(self):
        self.await_stubs(self.client)
        found = structured(self.client.call("search_tools", {"query": "adds two numbers"}))
        self.assertIn("add", json.dumps(found["tools"][0]))
        definition = structured(self.client.call("get_tool_definition", {"tool_name": "near__add"}))
        self.assertEqual((definition["mcp_server"], definition["import"]), ("near", "from servers.near import add"))
        self.client.call("call_tool", {"name": "near__grow"})
        eventually(lambda: structured(self.client.call("search_tools", {"query": "grown"})).get("total"), "a new tool")

    def test_what_can_be_called_is_listed_before_what_is_only_known(self):
        definitions = {"far.json": [{"name": "add_two_numbers", "description": "Adds two numbers, both of them numbers"},
                                    {"name": "echo", "description": "Of no server here"}],
                       "near.json": [{"name": "gone", "description": "Adds two numbers; the server has it no more"}]}
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        folder.chmod(0o755)
        for name, tools in definitions.items():
            (folder / name).write_text(json.dumps({"tools": tools}))
        with self.daemon(catalog=str(folder)) as daemon, Client(daemon.socket) as client:
            def search(query, **more):
                found = structured(client.call("search_tools", {"query": query, "limit": 50, **more}))
                tools = [tool for tool in found["tools"] if "kind" not in tool]
                return [(tool["mcp_server"], tool["name"], tool.get("callable", True)) for tool in tools]
            eventually(lambda: ("near", "add", True) in search("adds two numbers"), "the server's tools")
            for query in ("adds two numbers", "add_two_numbers", "gone", "far.echo", "", "sum of numbers"):
                with self.subTest(query):
                    callable = [can for _, _, can in search(query)]
                    self.assertEqual(callable, sorted(callable, reverse=True))
            self.assertEqual(search("adds two numbers")[0], ("near", "add", True))
            self.assertEqual({tool for tool in search("") if not tool[2]},
                             {("far", "add_two_numbers", False), ("far", "echo", False), ("near", "gone", False)})
            # The query's own name keeps a place.
            self.assertEqual(search("add_two_numbers", limit=2)[-1], ("far", "add_two_numbers", False))
            # Of two tools with one name, the one that can be called is meant.
            self.assertEqual(structured(client.call("get_tool_definition", {"tool_name": "echo"}))["mcp_server"], "near")
            called = structured(client.call("call_tool", {"name": "add_two_numbers", "arguments": {}}))
            self.assertIn("is known, but cannot be called", called["error"])

    def test_what_a_server_has_is_known_after_a_restart_without_starting_it(self):
        self.await_stubs(self.client)
        self.client.close()
        started = len(self.events("start"))
        self.shared.stop()
        self.shared.start()
        with Client(self.shared.socket) as again:
            self.await_stubs(again)
            self.assertEqual(len(self.events("start")), started)
            self.assertEqual(structured(again.call("call_tool", {"name": "near__add", "arguments": {"a": 1, "b": 1}})),
                             {"result": {"sum": 2}})
            self.assertEqual(len(self.events("start")), started + 1)


class Direct(SharedUpstreamTest):
    def test_an_agent_calls_one_tool_and_selects_from_its_result(self):
        result = self.client.call("call_tool", {"name": "rows", "server": "near", "arguments": {"count": 2}, "select": ["id"]})
        self.assertEqual(structured(result), {"result": [{"id": 0}, {"id": 1}]})
        result = self.client.call("call_tool", {"name": "near__picture"})
        self.assertEqual([block["type"] for block in result["content"]], ["text", "image"])
        self.assertNotIn("structuredContent", result, "a client that prefers it would drop the picture")
        self.assertNotIn(result["content"][1]["data"], result["content"][0]["text"])
        result = self.client.call("call_tool", {"name": "near__fail"})
        self.assertTrue(result["isError"])
        self.assertEqual(structured(result)["error"], "the printer is out of paper")
        result = self.client.call("call_tool", {"name": "near__rows", "arguments": {"count": 200, "width": 10000}})
        self.assertIn("select", structured(result)["remedy"])

    def test_arguments_get_the_types_of_the_tools_schema_as_our_own_tools_take_them(self):
        """Numbers as text, null for what is left out, and what the host n8n adds to each call."""
        for arguments in ({"a": "1", "b": 2}, {"a": 1, "b": "2"},
                          {"a": 1, "b": 2, "toolCallId": "x", "sessionId": "s", "action": "sendMessage", "chatInput": "hi"}):
            result = self.client.call("call_tool", {"name": "near__add", "arguments": arguments})
            self.assertEqual(structured(result), {"result": {"sum": 3}}, arguments)
        result = self.client.call("call_tool", {"name": "near__rows", "arguments": {"count": "2", "width": None}, "select": ["id"]})
        self.assertEqual(structured(result), {"result": [{"id": 0}, {"id": 1}]})
        body = self.client.execute("import warder\nresult = warder.call_tool('near__add', a='1', b=2)")
        self.assertEqual(body["result"], {"sum": 3})
        refused = self.client.call("call_tool", {"name": "near__add", "arguments": {"a": "one", "b": 2, "sessionId": "s"}})
        self.assertIn("/a: \"one\" is not of type number", structured(refused)["error"])
        text = self.client.call("call_tool", {"name": "near__echo", "arguments": {"text": "3 x"}})
        self.assertEqual(structured(text), {"result": "3 x"}, "a text stays a text where the tool wants one")

    def test_none_for_an_optional_argument_does_not_reach_the_server(self):
        body = self.client.execute("import warder\nresult = warder.call_tool('near__rows', count=2, width=None)")
        self.assertEqual(body.get("result"), [{"id": n, "row": "x" * 10} for n in range(2)], body)

    def test_a_list_that_a_jail_sends_as_text_reaches_the_server_as_a_list(self):
        with self.daemon({"lists": self.server(args=["-c", LISTS])}) as daemon, Client(daemon.socket) as client:
            body = client.execute("import warder\nresult = warder.call_tool('lists__name', names='[\"a\"]')")
            self.assertEqual(body.get("result"), {"names": ["a"]}, body)

    def test_progress_of_the_server_reaches_the_agent(self):
        request = self.client.begin("tools/call", "t", name="call_tool", arguments={"name": "near__progress"})
        self.assertEqual(structured(self.client.answer(request)["result"]), {"result": "done"})
        self.assertEqual([n["params"]["progress"] for n in self.client.notifications], [1, 2])

    def test_a_cancelled_call_is_cancelled_there_too(self):
        request = self.client.begin("tools/call", name="call_tool", arguments={"name": "near__hang"})
        self.await_event("hang")
        self.client.cancel(request)
        self.await_event("cancelled")


class Rules(UpstreamTest):
    RULES = [
        {"name": "small-sums", "tools": ["near.add"], "verdict": "deny", "why": "large sums need a human",
         "remedy": "keep b below 100", "when": {"properties": {"b": {"minimum": 100}}, "required": ["b"]}},
        {"name": "no-secrets", "tools": ["*"], "verdict": "deny",
         "when": {"properties": {"text": {"pattern": "(?i)password"}}, "required": ["text"]}},
        {"name": "careful", "tools": ["near.d*"], "verdict": "ask"},
        {"name": "sums", "tools": ["near.add", "near.echo"], "verdict": "allow"},
    ]

    def test_rules_decide_from_code_and_directly_with_cause_and_remedy(self):
        with Policies(calls={"rules": self.RULES, "otherwise": "deny"}) as policies:
            with self.daemon(policies=policies) as daemon, Client(daemon.socket) as client:
                body = client.execute(
                    "import warder\nresult = [warder.call_tool('near__add', a=1, b=2), warder.call_tool('near__echo', text='x')]\n"
                    "for name, more in (('near__add', {'a': 1, 'b': 100}), ('near__echo', {'text': 'my PassWord'}),\n"
                    "                   ('near__die', {}), ('near__rows', {})):\n"
                    "    try: warder.call_tool(name, **more)\n"
                    "    except warder.CallError as e: result.append([e.code, e.rule, e.message, e.remedy])")
                self.assertEqual(body["result"], [
                    {"sum": 3}, "x",
                    ["denied", "calls.small-sums", "near.add is not allowed: large sums need a human", "keep b below 100"],
                    ["denied", "calls.no-secrets", "near.echo is not allowed", "other arguments may be allowed"],
                    ["denied", "calls.careful",
                     "near.die needs an approval, and no person can be asked here",
                     "solve the task without this tool, or ask the administrator"],
                    ["denied", "calls.otherwise", "no rule of the policy allows near.rows",
                     "the administrator can add a rule to `calls.rules` of the policy"]])
                result = structured(client.call("call_tool", {"name": "near__add", "arguments": {"a": 1, "b": 100}}))
                self.assertEqual((result["code"], result["rule"]), ("denied", "calls.small-sums"))

    def test_an_execution_has_so_many_calls_and_bytes(self):
        with Policies(calls={"per_execution": 3, "bytes": 100_000}) as policies:
            with self.daemon(policies=policies) as daemon, Client(daemon.socket) as client:
                code = ("import warder\nresult = 0\ntry:\n    while True:\n        warder.call_tool('near__rows', {})\n"
                        "        result += 1\nexcept warder.CallError as e: result = [result, e.code, e.rule]")
                body = client.execute(code.replace("{}", "count=1"))
                self.assertEqual(body["result"], [3, "exhausted", "calls.per_execution"])
                body = client.execute(code.replace("{}", "count=40, width=1000"))
                self.assertEqual(body["result"], [2, "exhausted", "calls.bytes"])

    def test_calls_are_in_the_audit_chain_by_shape_and_never_by_value(self):
        with self.daemon() as daemon:
            with Client(daemon.socket) as client:
                client.execute("import warder\nwarder.call_tool('near__echo', text='do not keep me')")
                client.call("call_tool", {"name": "near__fail"})
            daemon.stop()
            with sqlite3.connect(daemon.state / "journal/journal.db") as database:
                rows = database.execute("SELECT action, subject, shape FROM audit WHERE action IN ('call', 'nested call') ORDER BY number")
                entries = [(action, subject, json.loads(shape)) for action, subject, shape in rows]
            database.close()
            (nested, direct) = entries
            self.assertEqual(nested[:2], ("nested call", "near.echo"))
            self.assertEqual(nested[2]["arguments"], {"text": "string(14)"})
            self.assertEqual((nested[2]["verdict"], nested[2]["bytes"]), ("ok", 16))
            self.assertRegex(nested[2]["execution"], r"\Ae[0-9a-f]{16}\Z")
            self.assertEqual((direct[0], direct[1], direct[2]["verdict"]), ("call", "near.fail", "failed"))
            self.assertNotIn("do not keep me", daemon.log_text())
            daemon.start()


class Secrets(UpstreamTest):
    def test_secrets_reach_the_server_and_nobody_else(self):
        secret = self.folder / "secret"
        secret.write_text(SECRET + "\n")
        secret.chmod(stat.S_IRUSR | stat.S_IRGRP | stat.S_IROTH)
        server = self.server(secrets={"TOKEN": str(secret)}, env={"PLAIN": "seen"})
        with self.daemon({"near": server}) as daemon, Client(daemon.socket) as client:
            body = client.execute("import warder, os\nresult = [warder.call_tool('near__environment', name='TOKEN'), "
                                  "warder.call_tool('near__environment', name='PLAIN'), 'TOKEN' in os.environ]")
            self.assertEqual(body["result"], ["[secret TOKEN]", "seen", False])
            self.assertNotIn(SECRET, daemon.log_text())

    def test_a_secret_that_cannot_be_read_is_told(self):
        with self.daemon({"near": self.server(secrets={"TOKEN": "/nonexistent"})}) as daemon, Client(daemon.socket) as client:
            error = structured(client.call("call_tool", {"name": "near__add", "arguments": {"a": 1, "b": 1}}))
            self.assertIn("the secret TOKEN cannot be read from /nonexistent", error["error"])


class PersonalData(UpstreamTest):
    MAIL = "ada.lovelace@example.com"

    def test_code_sees_tokens_and_only_the_arguments_that_the_policy_names_get_what_they_stand_for(self):
        private = self.folder / "notes/told"
        calls = {"results": "tokenised", "restore": [{"tools": ["near.note"], "arguments": ["text"]}]}
        with Policies(calls=calls) as policies:
            with self.daemon({"near": self.server(env={"MAIL": self.MAIL})}, policies=policies) as daemon:
                with Client(daemon.socket) as client:
                    body = client.execute(
                        "import warder\ncall = warder.call_tool\nmail = call('near__environment', name='MAIL')\n"
                        "print(mail)\ncall('near__note', text=f'to {mail}', where=mail)\n"
                        "forged = call('near__note', text='[EMAIL_aaaaaa]', where='-')\n"
                        "result = [mail, call('near__echo', text=mail), forged]")
                    self.assertTrue(body["success"], body)
                    token, echoed, forged = body["result"]
                    self.assertRegex(token, r"\A\[EMAIL_[a-z0-9]+\]\Z")
                    self.assertEqual(echoed, token)  # no rule restores it there
                    self.assertEqual(body["output"], [token])
                    first, second = [json.loads(line) for line in private.read_text().splitlines()]
                    self.assertEqual(first, [f"to {self.MAIL}", token])
                    self.assertEqual(second[0], "[EMAIL_aaaaaa]")
                    self.assertNotIn(self.MAIL, json.dumps(body))
                    self.assertNotIn(self.MAIL, daemon.log_text())
                    # What it says when the restored text does not fit is tokenised, too.
                    answer = client.call("call_tool", {"name": "near__note", "arguments": {"text": token, "where": 1}})
                    self.assertNotIn(self.MAIL, json.dumps(answer))


class Jailed(SharedUpstreamTest):
    @classmethod
    def servers(cls):
        shown = {"command": "/usr/bin/python3", "args": ["/workspace/upstream_server.py"]}
        return {"near": {**shown, "folder": str(cls.folder)}, "files": {**shown, "folder": "workspace"},
                "late": {**shown, "folder": str(cls.folder / "late")}, "all": {**shown, "folder": "/"},
                "own": {"command": "/usr/bin/python3", "args": ["-c", SMALL]}}

    def answer_of(self, tool, **arguments):
        return structured(self.client.call("call_tool", {"name": tool, "arguments": arguments}))

    def test_a_server_runs_in_a_jail_of_its_own_unless_the_administrator_says_otherwise(self):
        owner = (self.shared.state / "tenants").stat()
        os.chown(self.folder, owner.st_uid, owner.st_gid)  # what is the daemon's it may write
        seen = self.answer_of("near__where")
        self.assertIn("result", seen, self.shared.log_text()[-2000:])
        self.assertEqual(seen["result"]["folder"], "/workspace")
        self.assertNotIn("work", seen["result"]["root"])
        self.assertIn("upstream_server.py", seen["result"]["files"])
        self.assertTrue((self.folder / "mine").exists())
        body = self.client.execute("import warder\nresult = [warder.call_tool('near__add', a=1, b=2)['sum'], "
                                   "warder.call_tool('near__echo', text='x' * 100000) == 'x' * 100000]")
        self.assertEqual(body.get("result"), [3, True], body)
        self.assertRegex(self.shared.log_text(), "server near: ready in [0-9]+ ms, 2026-07-28, in a jail")

    def test_a_folder_that_came_after_the_daemon_or_holds_its_own_files_is_shown_to_nobody(self):
        self.assertIn("server all: jails cannot receive its folder /: it contains Warder's own files", self.shared.log_text())
        folder = self.folder / "late"
        folder.mkdir()
        owner = (self.shared.state / "tenants").stat()
        os.chown(folder, owner.st_uid, owner.st_gid)
        for name in ("late", "all"):
            answer = structured(self.client.call("call_tool", {"name": f"{name}__where", "arguments": {}}))
            self.assertIn("its folder did not exist when the daemon started, or contains the daemon's own files",
                          answer["error"])
        self.assertIn("refused the order to attach a folder", self.shared.log_text())

    def test_it_may_be_given_the_tenants_workspace(self):
        self.client.write_file("upstream_server.py", (self.folder / "upstream_server.py").read_text())
        seen = self.answer_of("files__where")
        self.assertIn("upstream_server.py", seen.get("result", {}).get("files", ""), seen)
        self.assertIn("mine", self.client.execute("result = list_files()")["result"])

    @unittest.skipUnless(ROOT, "only root can be two users")
    def test_the_tenants_workspace_defines_no_tools_for_others(self):
        self.client.write_file("upstream_server.py", (self.folder / "upstream_server.py").read_text())
        self.assertIn("result", self.answer_of("files__where"))
        self.assertIn("on your files it has: ", self.answer_of("files__nothing")["remedy"])
        with as_user(OTHER_TENANT, lambda: Client(self.shared.socket)) as other:
            for client in (other, self.client):
                found = structured(client.call("search_tools", {"query": "where", "server": "files"}))
                self.assertEqual(found["tools"], [], found)
            theirs = structured(other.call("call_tool", {"name": "files__where", "arguments": {}}))
            self.assertIn("server 'files'", theirs["error"])

    def test_else_it_has_a_folder_of_its_own(self):
        self.assertEqual(self.answer_of("own__keep"), {"result": ["kept"]})
        self.assertNotIn("kept", self.client.execute("result = list_files()")["result"])

    def test_one_that_dies_in_its_jail_is_told_and_replaced(self):
        self.assertIn("ended with status 3; it last wrote: a last word", self.answer_of("near__die")["error"])
        self.assertEqual(self.answer_of("near__echo", text="again"), {"result": "again"})

    def test_one_that_does_not_end_when_it_is_told_to_goes_with_the_daemon(self):
        # Its tools are known, so it is told to end; it still has its two seconds when the daemon ends.
        stays = SMALL + "import time\ntime.sleep(600)\n"
        with self.daemon({"stays": {"command": "/usr/bin/python3", "args": ["-c", stays]}}) as daemon:
            eventually(lambda: "server stays: idle, ended" in daemon.log_text(), "what it is told")


class Imports(UpstreamTest):
    def test_a_clients_configuration_file_is_imported(self):
        os.environ["WARDER_TEST_ERA"] = "handshake"
        self.addCleanup(os.environ.pop, "WARDER_TEST_ERA")
        claude = self.folder / "claude.json"
        claude.write_text(json.dumps({"numStartups": 7, "mcpServers": {
            "near": {"type": "stdio", "command": "/usr/bin/python3",
                     "args": [str(self.folder / "upstream_server.py"), "${WARDER_TEST_ERA}"], "env": {"PLAIN": "${NO_SUCH:-else}"}},
            "remote": {"type": "sse", "url": "https://example.org/sse"}}}))
        code = self.folder / "mcp.json"
        code.write_text(json.dumps({"inputs": [], "servers": {"code": {
            "command": "/usr/bin/python3", "args": [str(self.folder / "upstream_server.py"), "${env:WARDER_TEST_ERA}"]}}}))
        with self.daemon({}, **{"import": [{"file": str(claude), "jail": "none"}, {"file": str(code), "jail": "none"}]}) as daemon:
            with Client(daemon.socket) as client:
                body = client.execute("import warder\nresult = [warder.call_tool('near__environment', name='PLAIN'), "
                                      "warder.call_tool('code__add', a=1, b=1)]")
                self.assertEqual(body.get("result"), ["else", {"sum": 2}], body)
                self.assertIn("remote", daemon.log_text())


if __name__ == "__main__":
    unittest.main(verbosity=2)
